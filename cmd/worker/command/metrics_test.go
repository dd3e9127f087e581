package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// series reads what a scrape gives: the number of each series.
func series(t *testing.T, url string) map[string]string {
	t.Helper()
	scraped := get(t, url)
	require.Equal(t, http.StatusOK, scraped.status, scraped.body)
	require.Contains(t, scraped.header.Get("Content-Type"), "text/plain; version=0.0.4")
	values := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(scraped.body))
	for lines.Scan() {
		if name, value, found := cutLast(lines.Text(), " "); found && !strings.HasPrefix(name, "#") {
			values[name] = value
		}
	}
	return values
}

func cutLast(s, separator string) (before, after string, found bool) {
	at := strings.LastIndex(s, separator)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(separator):], true
}

func TestMetrics(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	m, client, environ := elsewhere(t)
	informs(m, "redis_version:7.2.4\r\nrole:master\r\nmaxmemory_policy:noeviction\r\nused_memory:1000\r\nmaxmemory:4000\r\n")
	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	submitMessage(t, "redis://"+m.Addr(), "bob", time.Hour)
	worker := start(t, environ).started(t)
	// The next count of what is due comes after 300 times as long as this one took.
	require.Eventually(t, func() bool { return series(t, worker.page(t, "metrics"))["sendlimit_pending_messages"] == "1" }, time.Minute, 50*time.Millisecond)
	submitMessage(t, "redis://"+m.Addr(), "canary", 0)
	require.Eventually(t, func() bool { return len(worker.stdout.lines(t)) == 1 }, time.Minute, 10*time.Millisecond)
	require.NoError(t, client.ZAdd(t.Context(), "sl:{p0001}:dead", redis.Z{Member: "1/x"}, redis.Z{Member: "2/y"}).Err())

	var got map[string]string
	server := fmt.Sprintf(`{server=%q}`, m.Addr())
	wanted := map[string]string{
		"sendlimit_delivery_lateness_seconds_count":                        "1",
		"sendlimit_delivery_duration_seconds_count":                        "1",
		"sendlimit_postponed_total":                                        "0",
		"sendlimit_uncertain_total":                                        "0",
		"sendlimit_relayed_total":                                          "0",
		"sendlimit_pending_messages":                                       "1",
		`sendlimit_queue_tasks{state="scheduled"}`:                         "0",
		`sendlimit_queue_tasks{state="archived"}`:                          "0",
		"sendlimit_watch_oldest_overdue_seconds":                           "0",
		"sendlimit_dead_letters":                                           "2",
		"sendlimit_store_memory_used_bytes" + server:                       "1000",
		"sendlimit_store_memory_max_bytes" + server:                        "4000",
		"sendlimit_overdue_messages":                                       "0",
		`sendlimit_due_messages{within="5m"}`:                              "0",
		`sendlimit_script_duration_seconds_count{script="message/settle"}`: "1",
	}
	// A delivery is counted after it is settled, and some figures are older on a busy machine.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		got = series(t, worker.page(t, "metrics"))
		for name, want := range wanted {
			assert.Equal(c, want, got[name], name)
		}
	}, 3*time.Minute, 50*time.Millisecond)
	for _, source := range []string{"queue", "forecast", "dead_letters", "memory"} { // on a busy machine one of them may take too long
		require.Contains(t, got, fmt.Sprintf("sendlimit_collect_failures_total{source=%q}", source))
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", `sendlimit_script_duration_seconds_count{script="message/claim"}`} {
		require.Contains(t, got, name)
	}
	for name := range got {
		require.NotContains(t, name, "canary")
	}
	require.NoError(t, worker.end(t))
}

func TestStats(t *testing.T) {
	t.Parallel()
	m, client, environ := elsewhere(t)
	out := prints(t, environ, "", "stats")
	require.Equal(t, "0 pending messages\nqueue: empty\ngiven up: 0 messages, 0 alerts\nthe schedule is not behind\n", out)
	require.Empty(t, m.Keys(), "looking leaves nothing behind")

	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	for i := range 2 {
		o, err := submitter.Submit(t.Context(), message.Message{
			User: "alice", SendAt: time.Now().Add(time.Duration(i+1) * time.Hour), Title: "Hi",
		})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	require.NoError(t, submitter.Close())
	out = prints(t, environ, "", "stats")
	require.Contains(t, out, "2 pending messages\n")
	out = prints(t, environ, "", "stats", "--json")
	var stats message.Stats
	require.NoError(t, json.Unmarshal([]byte(out), &stats))
	require.Equal(t, 2, stats.Pending)
	require.Equal(t, cli.Version(), stats.Version)

	m.Close()
	_, err = command(t, environ, "", "stats")
	require.Equal(t, cli.StatusUnavailable, cli.ExitCode(err))
}
