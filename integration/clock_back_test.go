package integration_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The clock of a real Redis steps back, and is set right again. The worker says so, and sends late:
// also by its metrics. Setting it right is no step forward, and delivers at once.
func TestTheClockOfRedisStepsBack(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	server := redistest.RealStepped(t)
	environ := []string{"LANG=C.UTF-8", "REDIS_URL=" + server.URL()}
	worker := p.worker(t, environ, "--push-url", "log:")
	worker.delivers(t)
	push := func(id, at string) {
		t.Helper()
		done := p.enqueue(t, environ, "push", "--user", id, "--id", id, "--at", at, "--title", "Hello")
		require.Zero(t, done.status, done.stderr)
	}
	await := func(page, pattern string) {
		t.Helper()
		url, wanted := "http://"+worker.apiAddress(t)+page, regexp.MustCompile(pattern)
		require.Eventually(t, func() bool { return wanted.MatchString(bodyOf(t, url)) }, time.Minute, 50*time.Millisecond, pattern)
	}
	require.Contains(t, p.workerCommand(t, append(environ, "SENDLIMIT_PUSH_URL=log:"), "check").stdout, "takes writes; layout 1")
	push("before", "+20s")
	server.Step(t, -20*time.Second)
	worker.logged(t, "the clock of Redis has stepped back: messages are sent late by as much until it is set right", "level")
	await("/readyz", `"check":"clock","status":"warning","detail":"the clock of Redis has stepped back by (19|20|21)s, so messages are sent late by as much: set it right"`)
	await("/metrics", `\nsendlimit_store_clock_step_seconds -(19|20)`)
	require.Regexp(t, `warning: the clock of Redis is (19|20|21)s behind that of this machine`,
		p.workerCommand(t, append(environ, "SENDLIMIT_PUSH_URL=log:"), "check").stdout)

	require.Eventually(t, func() bool { return strings.Contains(worker.stdout.String(), `"id":"before"`) }, time.Minute, 50*time.Millisecond)
	await("/metrics", `sendlimit_delivery_lateness_seconds_bucket\{le="15"\} 0\n(.*\n)*sendlimit_delivery_lateness_seconds_count 1\n`)

	push("after", "+25s") // more than the clock is behind
	server.Step(t, 0)
	await("/readyz", `"check":"clock","status":"ok"`)
	await("/metrics", `\nsendlimit_store_clock_step_seconds 0\n`)
	require.Eventually(t, func() bool { return strings.Contains(worker.stdout.String(), `"id":"after"`) }, time.Minute, 50*time.Millisecond)
	require.NotContains(t, worker.stderr.String(), "stepped forward")
}

// bodyOf returns the body of a URL's answer.
func bodyOf(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	return text(t, response)
}
