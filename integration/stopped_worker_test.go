package integration_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A worker stands still for longer than its lease, in the middle of a delivery: nobody knows
// whether the provider has the message. By on_uncertain another worker sends it again or
// gives it up, and either is told as uncertain. The first one changes nothing when it goes
// on.
func TestAWorkerThatStandsStillIsUncertain(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	for onUncertain, want := range map[string]struct {
		requests int
		status   string
		again    bool // it may have arrived before
	}{
		"resend": {2, "delivered", true},
		"skip":   {1, "uncertain", false},
	} {
		t.Run(onUncertain, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Real(t)
			receiver := notifiertest.NewReceiver(time.Now)
			t.Cleanup(receiver.Close)
			receiver.Script(notifiertest.Answer{Delay: time.Second})
			environ := []string{"REDIS_URL=" + redis.URL(), "SENDLIMIT_PUSH_URL=" + receiver.URL(), "SENDLIMIT_ON_UNCERTAIN=" + onUncertain}
			first := p.worker(t, environ, "--push-timeout", "2s")
			first.delivers(t)
			pushed := p.enqueue(t, environ[:1], "push", "--user", "alice", "--id", "m", "--at", "now", "--title", "Hello")
			require.Zero(t, pushed.status, pushed.stderr)
			_, err := receiver.Wait(t.Context(), 1)
			require.NoError(t, err)
			first.signal(t, syscall.SIGSTOP)

			second := p.worker(t, environ, "--push-timeout", "2s")
			second.delivers(t)
			var told struct {
				Status    string `json:"status"`
				Uncertain bool   `json:"uncertain"`
			}
			require.Eventually(t, func() bool {
				shown := p.enqueue(t, environ[:1], "status", "--user", "alice", "m", "--json")
				require.Zero(t, shown.status, shown.stderr)
				require.NoError(t, json.Unmarshal([]byte(shown.stdout), &told))
				return told.Status == want.status
			}, 90*time.Second, 500*time.Millisecond, "%+v\n%s", &told, &second.stderr)
			first.signal(t, syscall.SIGCONT)
			require.Zero(t, first.end(t), "%s", &first.stderr)

			require.Len(t, receiver.Requests(), want.requests)
			shown := p.enqueue(t, environ[:1], "status", "--user", "alice", "m", "--json")
			require.NoError(t, json.Unmarshal([]byte(shown.stdout), &told))
			require.Equal(t, want.status, told.Status, "what went on changes nothing")
			metrics := strings.TrimSuffix(second.logged(t, "health endpoint", "url"), "healthz") + "metrics"
			require.Contains(t, bodyOf(t, metrics), "\nsendlimit_uncertain_total 1\n")
			require.Equal(t, want.again, told.Uncertain)
			require.Zero(t, second.end(t))
		})
	}
}

// bodyOf returns the body of a URL's answer.
func bodyOf(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return string(body)
}
