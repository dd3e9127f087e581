package channels_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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

// A secret is replaced by way of both while pushes go on: none is refused, whichever side is first.
func TestASecretIsReplacedWhilePushesGoOn(t *testing.T) {
	t.Parallel()
	const former, next = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_OTg3NjU0MzIxMDk4NzY1NDMyMTA5ODc2NTQzMjEwOTg="
	for _, steps := range [][]string{
		{"worker both", "receiver next", "worker next"},
		{"receiver both", "worker next", "receiver next"},
	} {
		var accepted atomic.Pointer[string] // secrets of the receiver
		accepted.Store(new(former))
		receiver := notifiertest.NewReceiver(time.Now)
		t.Cleanup(receiver.Close)
		receiver.AnswerWith(func(r notifiertest.Request) notifiertest.Answer {
			for secret := range strings.FieldsSeq(*accepted.Load()) {
				if verifier, err := standardwebhooks.NewWebhook(secret); err == nil && verifier.Verify(r.Body, r.Header) == nil {
					return notifiertest.Answer{}
				}
			}
			return notifiertest.Answer{Status: http.StatusUnauthorized}
		})
		file, told := filepath.Join(t.TempDir(), "secret"), make(chan error, 1)
		replace := func(secrets string) {
			require.NoError(t, os.WriteFile(file+".new", []byte(secrets), 0o600))
			require.NoError(t, os.Rename(file+".new", file))
		}
		replace(former)
		worker, err := reload.New(t.Context(), reload.Options{
			File: file, Every: time.Millisecond, Reloaded: func(err error) { told <- err },
			Open: func(content []byte) (notifier.Notifier, error) {
				return channels.OpenTarget(config.Config{PushURL: receiver.URL(), PushSecret: config.Secret(content)}, time.Now, new(bytes.Buffer))
			},
		})
		require.NoError(t, err)

		var pushed [4]atomic.Int64
		var refused atomic.Int64
		var over atomic.Bool
		var pushing sync.WaitGroup
		for i := range pushed {
			pushing.Go(func() {
				for !over.Load() {
					if worker.Notify(t.Context(), notification()).Status != notifier.Delivered {
						refused.Add(1)
					}
					pushed[i].Add(1)
				}
			})
		}
		goOn := func() { // also what was on its way
			for i := range pushed {
				before := pushed[i].Load()
				require.Eventually(t, func() bool { return pushed[i].Load() >= before+25 }, time.Minute, time.Millisecond)
			}
		}
		goOn()
		for _, step := range steps {
			side, which, _ := strings.Cut(step, " ")
			secrets := map[string]string{"both": former + "\n" + next, "next": next}[which]
			if side == "worker" {
				replace(secrets)
				require.NoError(t, <-told)
			} else {
				accepted.Store(&secrets)
			}
			goOn()
		}
		over.Store(true)
		pushing.Wait()
		require.Zero(t, refused.Load(), steps)
		require.NoError(t, worker.Close())
	}
}

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
