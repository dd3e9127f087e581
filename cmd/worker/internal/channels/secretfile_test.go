package channels_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/reload"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

const (
	oneSecret     = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	anotherSecret = "whsec_OTg3NjU0MzIxMDk4NzY1NDMyMTA5ODc2NTQzMjEwOTg="
)

// A push secret in a file signs, and a new one signs from a few seconds later.
func TestAPushSecretInAFile(t *testing.T) {
	t.Parallel()
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(oneSecret+"\n"), 0o600))
	var log output.Buffer
	opened, err := channels.OpenAll(t.Context(), config.Config{
		RedisURL: "redis://h", Deliver: true, PushURL: receiver.URL(), PushSecretFile: file, PushTimeout: time.Minute,
	}, time.Now, io.Discard, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	defer func() { require.NoError(t, channels.CloseAll(opened)) }()

	n := notifier.Notification{User: "alice", ID: "order-17", Title: "Hello", SendAt: time.Now(), IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17")}
	signedBy := func() string {
		require.Equal(t, notifier.Delivered, opened[0].Notify(t.Context(), n).Status)
		requests := receiver.Requests()
		return signer(t, requests[len(requests)-1])
	}
	require.Equal(t, oneSecret, signedBy())
	require.NoError(t, os.WriteFile(file, []byte(anotherSecret), 0o600))
	require.Eventually(t, func() bool {
		return signedBy() == anotherSecret && strings.Contains(log.String(), `msg="reloaded a secret" setting=push_secret_file`)
	}, 6*reload.DefaultEvery, 50*time.Millisecond)
	require.NotContains(t, log.String(), "whsec_")
}

func TestAWrongSecretInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("hunter2"), 0o600))
	c := config.Config{RedisURL: "redis://h", Deliver: true, PushURL: "https://push.example.com", PushSecretFile: file}
	want := &fault.InvalidError{Field: "push_secret_file", Value: file, Want: "a file with whsec_ followed by 24 to 64 bytes in base64, or two of these with a comma between them"}
	require.Equal(t, want, channels.ValidPush(c))

	c.PushSecretFile, c.AlertSecretFile = "", file
	found := fault.All[*fault.InvalidError](channels.ValidNotices(c))
	require.Len(t, found, 1)
	require.Equal(t, "alert_secret_file", found[0].Field)
	require.NotContains(t, found[0].Error(), "hunter2")

	c.AlertSecretFile, c.PushSecretFile = "", filepath.Join(t.TempDir(), "nosuch")
	require.ErrorContains(t, channels.ValidPush(c), "a file that this program can read")
}

// signer returns which of the two secrets signed a request.
func signer(t *testing.T, r notifiertest.Request) string {
	t.Helper()
	for _, secret := range []string{oneSecret, anotherSecret} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		if verifier.Verify(r.Body, r.Header) == nil {
			return secret
		}
	}
	require.Fail(t, "no known secret signed it")
	return ""
}
