package main

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

const (
	secret      = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherSecret = "whsec_bm90IHRoZSBzZWNyZXQgb2YgdGhpcyBvbmU="
)

// started is a receiver on a journal, and how to stop it.
type started func(t *testing.T, journal string) (url string, stop func())

func inGo(t *testing.T, journal string) (string, func()) {
	t.Helper()
	r, err := Open(journal, secret)
	require.NoError(t, err)
	server := httptest.NewServer(r)
	return server.URL, func() {
		server.Close()
		require.NoError(t, r.Close())
	}
}

func inPython(t *testing.T, journal string) (string, func()) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	command := exec.CommandContext(t.Context(), python, "../receiver-python/receiver.py", "--listen", "127.0.0.1:0", "--database", journal)
	command.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimPrefix(strings.TrimSpace(line), "listening on "), func() {
		require.NoError(t, command.Process.Signal(syscall.SIGTERM))
		require.NoError(t, command.Wait())
	}
}

// kept returns how many messages with a title a receiver keeps.
func kept(t *testing.T, journal, title string) int {
	t.Helper()
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	return bytes.Count(text, []byte(title))
}

// Both receivers handle each message of the real channel once, also after a restart, and refuse
// unsigned requests.
func TestReceivers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]started{"Go": inGo, "Python": inPython} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := filepath.Join(t.TempDir(), "journal")
			url, stop := start(t, journal)
			send := func(secret, id string) notifier.Result {
				t.Helper()
				channel, err := webhook.New(webhook.Config{URL: url, Secret: secret, Now: time.Now})
				require.NoError(t, err)
				defer channel.Close()
				return channel.Notify(t.Context(), notifier.Notification{
					ID: id, User: "alice", Title: "title-of-" + id, SendAt: time.Now(), Attempt: 1,
					IdempotencyKey: notifier.IdempotencyKey("", "alice", id),
				})
			}
			for range 2 {
				result := send(secret, "first")
				require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
			}
			for _, wrong := range []string{otherSecret, ""} {
				result := send(wrong, "unsigned")
				require.Equal(t, notifier.Refused, result.Status, "%v", result.Err)
			}
			answer, err := http.Get(url) //nolint:names // a browser that strayed; the URL is that of the test's server
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode)

			stop()
			url, stop = start(t, journal)
			require.Equal(t, notifier.Delivered, send(secret, "first").Status, "a double after a restart")
			require.Equal(t, notifier.Delivered, send(secret, "second").Status)
			stop()
			require.Equal(t, 1, kept(t, journal, "title-of-first"))
			require.Equal(t, 1, kept(t, journal, "title-of-second"))
			require.Zero(t, kept(t, journal, "title-of-unsigned"))
		})
	}
}

// A crash may cut off the last line. Its message was not answered, and comes again.
func TestALineThatWasCutOff(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.WriteFile(journal, []byte(`{"id":"a","message":{}}`+"\n"+`{"id":"b","mess`), 0o600))
	r, err := Open(journal, secret)
	require.NoError(t, err)
	require.NoError(t, r.handle(entry{ID: "a", Message: []byte("{}")}))
	require.NoError(t, r.handle(entry{ID: "b", Message: []byte("{}")}))
	require.NoError(t, r.Close())
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":"a","message":{}}`, `{"id":"b","message":{}}`, ""}, strings.Split(string(text), "\n"))
}

func TestASecretIsRequired(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"", "whsec_!"} {
		_, err := Open(filepath.Join(t.TempDir(), "journal"), wrong)
		require.ErrorContains(t, err, "WEBHOOK_SECRET")
	}
}
