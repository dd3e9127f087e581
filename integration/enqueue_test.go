package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// TestEnqueueProcess tests what the built program promises to callers.
func TestEnqueueProcess(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	whole := enqueueJudgesTheTraffic(t, p)
	for name, test := range map[string]func(*testing.T, programs, wholeRun){
		"goes on after the store was killed": enqueueSurvivesTheStore,
		"goes on after an interrupt":         enqueueIsInterrupted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p, whole)
		})
	}
}

// wholeRun is a file of traffic, and what a run that nothing disturbed made of it.
type wholeRun struct {
	path            string
	lines, accepted int
	reservations    map[string][]redis.Z
}

// storeWithRules starts a Redis with the default rules, and returns the environment
// that names it.
func storeWithRules(t *testing.T, args ...string) (*redistest.Server, []string) {
	t.Helper()
	server := redistest.Real(t, args...)
	seedDefaultPolicy(t, server.Client())
	return server, []string{"REDIS_URL=" + server.URL()}
}

// databaseWithRules does so on the shared Redis.
func databaseWithRules(t *testing.T) (*redistest.Database, []string) {
	t.Helper()
	database := redistest.Shared(t)
	seedDefaultPolicy(t, database.Client())
	return database, []string{"REDIS_URL=" + database.URL()}
}

// trafficLines is how much of the traffic is submitted; allTrafficEnv asks for all of it.
const (
	trafficLines  = 8000
	allTrafficEnv = "SENDLIMIT_TEST_ALL_TRAFFIC"
)

// trafficFile writes traffic of the year from the next midnight to a file. It returns the
// file with the numbers of lines, and of those that the model accepts.
func trafficFile(t *testing.T) wholeRun {
	t.Helper()
	lines := trafficLines
	if os.Getenv(allTrafficEnv) != "" {
		lines = 0
	}
	trace, err := traffic.Load(lines)
	require.NoError(t, err)
	t.Log(trace.Source)
	start := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	var text bytes.Buffer
	for i := range trace.Sends {
		r := trace.Request(i, start)
		fmt.Fprintf(&text, `{"id":%q,"user":%q,"send_at":%q,"title":"Hi"}`+"\n", r.ID, r.User, r.At.Format(time.RFC3339))
	}
	w := wholeRun{path: filepath.Join(t.TempDir(), "traffic.ndjson"), lines: len(trace.Sends)}
	require.NoError(t, os.WriteFile(w.path, text.Bytes(), 0o600))

	decisions, err := sendlimittest.Judge(trace, policy.Default(), start, policy.DefaultReach)
	require.NoError(t, err)
	for _, d := range decisions {
		if d.Allowed {
			w.accepted++
		}
	}
	return w
}

// summary is what a run of bulk --json prints first.
type summary struct {
	Lines         int            `json:"lines"`
	Accepted      int            `json:"accepted"`
	Replayed      int            `json:"replayed"`
	Shifted       int            `json:"shifted"`
	Refused       int            `json:"refused"`
	Invalid       int            `json:"invalid"`
	Errors        int            `json:"errors"`
	RefusedByRule map[string]int `json:"refused_by_rule"`
	Seconds       float64        `json:"seconds"`
}

func summaryOf(t *testing.T, stdout string) summary {
	t.Helper()
	var s summary
	first, _, _ := strings.Cut(stdout, "\n")
	require.NoError(t, json.Unmarshal([]byte(first), &s), stdout)
	return s
}

// bulk runs a file without invalid lines to its end.
func (p programs) bulk(t *testing.T, environ []string, path string, args ...string) summary {
	t.Helper()
	done := p.enqueue(t, environ, append([]string{"bulk", path, "--json"}, args...)...)
	require.Zero(t, done.status, done.stdout+done.stderr)
	require.Empty(t, done.stderr)
	return summaryOf(t, done.stdout)
}

// enqueueJudgesTheTraffic requires that sendlimit judges the traffic as the model does.
func enqueueJudgesTheTraffic(t *testing.T, p programs) wholeRun {
	t.Helper()
	database, environ := databaseWithRules(t)
	w := trafficFile(t)
	first := p.bulk(t, environ, w.path)
	t.Logf("%d lines in %.1f s", w.lines, first.Seconds)
	byRule := first.RefusedByRule
	first.RefusedByRule, first.Seconds = nil, 0
	require.Equal(t, summary{Lines: w.lines, Accepted: w.accepted, Refused: w.lines - w.accepted}, first)
	require.Len(t, byRule, 3, "each rule refuses some")
	require.Equal(t, w.lines-w.accepted, byRule["1/minute"]+byRule["5/hour"]+byRule["10/calendar_day"])

	again := p.bulk(t, environ, w.path)
	require.Equal(t, []int{0, w.accepted, w.lines - w.accepted}, []int{again.Accepted, again.Replayed, again.Refused})
	w.reservations = reservations(t, database.Client())
	return w
}

// reservations returns every timeline in a store.
func reservations(t *testing.T, client *redis.Client) map[string][]redis.Z {
	t.Helper()
	all := make(map[string][]redis.Z)
	keys := client.Scan(t.Context(), 0, "sl:{p*}:u:*", 1000).Iterator()
	for keys.Next(t.Context()) {
		members, err := client.ZRangeWithScores(t.Context(), keys.Val(), 0, -1).Result()
		require.NoError(t, err)
		all[keys.Val()] = members
	}
	require.NoError(t, keys.Err())
	return all
}

// running is a sendlimit that has not ended yet.
type running struct {
	command        *exec.Cmd
	stdout, stderr bytes.Buffer
}

// startBulk runs a file, and returns when this number of its lines is judged.
func (p programs) startBulk(t *testing.T, environ []string, path string, lines int) *running {
	t.Helper()
	results := filepath.Join(t.TempDir(), "results")
	r := &running{}
	r.command = exec.CommandContext(t.Context(), filepath.Join(p.folder, "sendlimit"), "bulk", path, "--json", "--results", results)
	r.command.Env, r.command.Stdout, r.command.Stderr = environ, &r.stdout, &r.stderr
	require.NoError(t, r.command.Start())
	judged := func() bool {
		text, err := os.ReadFile(results)
		return err == nil && bytes.Count(text, []byte("\n")) >= lines
	}
	if !assert.Eventually(t, judged, 60*time.Second, 5*time.Millisecond) {
		_ = r.command.Process.Kill()
		_ = r.command.Wait()
		require.FailNow(t, "the run does not get on", "%s%s", r.stdout.String(), r.stderr.String())
	}
	return r
}

// stopped waits for the end of a run that was stopped, and returns the line to continue
// from.
func (r *running) stopped(t *testing.T, status int) int {
	t.Helper()
	_ = r.command.Wait() // its status is in the process's state
	require.Equal(t, status, r.command.ProcessState.ExitCode(), r.stdout.String()+r.stderr.String())
	_, last, _ := strings.Cut(strings.TrimSpace(r.stdout.String()), "\n")
	var outcome struct {
		Outcome string `json:"outcome"`
		Line    int    `json:"line"`
		Detail  string `json:"detail"`
	}
	require.NoError(t, json.Unmarshal([]byte(last), &outcome), r.stdout.String())
	require.Equal(t, "error", outcome.Outcome)
	require.Contains(t, outcome.Detail, fmt.Sprintf("continue with --from-line %d, or run it again", outcome.Line))
	require.Equal(t, outcome.Line-1, summaryOf(t, r.stdout.String()).Lines)
	return outcome.Line
}

func enqueueSurvivesTheStore(t *testing.T, p programs, whole wholeRun) {
	t.Helper()
	killed, environ := storeWithRules(t, "--appendonly", "yes")
	run := p.startBulk(t, environ, whole.path, 500)
	killed.Kill()
	line := run.stopped(t, 5)
	require.Less(t, line, whole.lines)
	require.Contains(t, run.stdout.String(), `"code":"unavailable"`)
	require.NoError(t, killed.Restart(t.Context()))

	// What the store itself lost when it was killed is submitted again, too.
	again := p.bulk(t, environ, whole.path)
	require.Equal(t, whole.accepted, again.Accepted+again.Replayed)
	require.Positive(t, again.Replayed)
	require.Equal(t, whole.reservations, reservations(t, killed.Client()))
}

func enqueueIsInterrupted(t *testing.T, p programs, whole wholeRun) {
	t.Helper()
	server, environ := databaseWithRules(t)
	run := p.startBulk(t, environ, whole.path, 500)
	require.NoError(t, run.command.Process.Signal(syscall.SIGINT))
	line := run.stopped(t, 130)
	require.Less(t, line, whole.lines)

	rest := p.bulk(t, environ, whole.path, "--from-line", strconv.Itoa(line))
	require.Equal(t, whole.lines-line+1, rest.Lines)
	before := summaryOf(t, run.stdout.String())
	require.Zero(t, before.Errors)
	require.Equal(t, whole.accepted, before.Accepted+rest.Accepted+rest.Replayed, "none is missing, none is twice")
	require.Equal(t, whole.reservations, reservations(t, server.Client()))
}
