package command

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// page is the address of another page beside the health endpoint.
func (r *running) page(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSuffix(r.attribute(t, "health endpoint", "url"), "healthz") + name
}

// informs has a server answer INFO so; an error begins with a dash.
func informs(m *miniredis.Miniredis, answer string) {
	m.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		if command != "INFO" {
			return false
		}
		if text, failed := strings.CutPrefix(answer, "-"); failed {
			peer.WriteError(text)
		} else {
			peer.WriteBulk(answer)
		}
		return true
	})
}

// readiness is the answer of /readyz.
type readiness struct {
	Status string      `json:"status"`
	Checks []condition `json:"checks"`
}

// condition is one thing that has to be so for a worker to be ready.
type condition struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// looksReady asks until the answer is a new one, which it is within a second.
func looksReady(t *testing.T, url string, wanted int) readiness {
	t.Helper()
	var got answer
	require.Eventually(t, func() bool {
		got = get(t, url)
		return got.status == wanted
	}, time.Minute, 50*time.Millisecond, "%d of %s", wanted, &got.body)
	var r readiness
	require.NoError(t, json.Unmarshal([]byte(got.body), &r), got.body)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	return r
}

func TestReady(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	m, client, environ := elsewhere(t)
	m.SetError("LOADING Redis is loading the dataset in memory")
	worker := start(t, environ)
	worker.logged(t, "Redis is still loading its data: waiting")
	m.SetError("")
	url := worker.started(t).page(t, "readyz")

	well := get(t, url)
	require.Equal(t, http.StatusOK, well.status)
	require.JSONEq(t, `{"status":"ready","checks":[{"check":"reachable","status":"ok"},{"check":"writable","status":"ok"},`+
		`{"check":"eviction","status":"ok"},{"check":"layout","status":"ok"},{"check":"clock","status":"ok"},{"check":"policies","status":"ok"}]}`, well.body)
	require.Equal(t, http.StatusMethodNotAllowed, request(t, http.MethodPost, url).status)
	policy := m.HGet("sl:{policies}:stored", "default")

	for _, row := range []struct {
		why         string
		begin       func()
		status      int
		check, want string // of the one that is not ok; want begins its detail
		statuses    string
	}{
		{
			"paused", func() { require.NoError(t, m.Set("asynq:{sl:push}:paused", "1")) }, 200,
			"queue", "paused from outside, so its messages wait and will be late: resume sl:push", "ok ok ok ok ok ok warning",
		},
		{
			"newer time zones", func() {
				m.Del("asynq:{sl:push}:paused")
				m.HSet("sl:meta", "time_zones", "2099a")
			}, 200,
			"time_zones", "a program with the time zones of 2099a uses the store, and this program has those of " + calendar.ZoneDataVersion, "ok ok ok ok ok ok warning",
		},
		{
			"a policy that can't be read", func() {
				m.HDel("sl:meta", "time_zones")
				m.HSet("sl:{policies}:stored", "default", `{"time_zone":"posix/Europe/Berlin","rules":["1/minute"]}`)
				m.Del("sl:{policies}:changes") // else they are read anew once a minute
			}, 503,
			"policies", `the rules of policy "default" in the store can't be read: apply them again`, "ok ok ok ok ok failed",
		},
		{
			"not reachable", func() {
				require.NoError(t, client.HSet(t.Context(), "sl:{policies}:stored", "default", policy).Err())
				m.SetError("LOADING Redis is loading the dataset in memory")
			}, 503,
			"reachable", "Redis is still loading its data: try again in a moment", "failed unknown unknown unknown unknown unknown",
		},
		{
			"a replica", func() {
				m.SetError("")
				informs(m, "redis_version:7.2.4\r\nrole:slave\r\nmaster_host:h\r\nmaster_port:1")
			}, 503,
			"writable", "Redis at " + m.Addr() + " is a read-only replica: give the address of its master, h:1", "ok failed unknown unknown unknown unknown",
		},
		{
			"evicting", func() { informs(m, "redis_version:7.2.4\r\nrole:master\r\nmaxmemory_policy:allkeys-lru") }, 503,
			"eviction", "Redis at " + m.Addr() + " has the maxmemory-policy allkeys-lru, which deletes scheduled messages when memory is full:" +
				" set it to noeviction", "ok ok failed ok ok unknown",
		},
		{
			"a newer program's", func() {
				m.Server().SetPreHook(nil)
				m.HSet("sl:meta", "layout", "99")
			}, 503,
			"layout", `the store has layout "99", this program knows up to 1: use the newer program, or another prefix`, "ok ok ok failed ok unknown",
		},
		{
			"emptied", m.FlushAll, 503,
			"layout", "the store has been emptied since this worker started: restart a worker, which adds its layout and rules",
			"ok ok ok failed ok unknown",
		},
		{
			"with an older one's data", func() { m.HSet("sl:meta", "layout", "-1") }, 503,
			"layout", "the store has layout -1 of a former version, as after a restore from a backup: restart a worker, which raises it",
			"ok ok ok failed ok unknown",
		},
		{
			"fit, as far as can be seen", func() {
				m.HSet("sl:meta", "layout", "1")
				m.HSet("sl:{policies}:stored", "default", policy)
				informs(m, "-NOPERM this user has no permissions to run the 'info' command")
			}, 200,
			"eviction", "Redis at " + m.Addr() + " does not allow INFO: its version (7.0 or newer), its role (master)" +
				" and its maxmemory-policy (noeviction) are not checked", "ok ok unknown ok ok ok",
		},
		{
			"with a wrong clock", func() {
				m.Server().SetPreHook(nil)
				m.SetTime(time.Now().Add(25*time.Hour - time.Second)) // and it stands
			}, 503,
			"clock", "the clock of Redis has stepped forward by 24h59m", "ok ok ok ok failed unknown",
		},
	} {
		row.begin()
		var got readiness
		require.Eventually(t, func() bool {
			got = looksReady(t, url, row.status)
			var statuses, details []string
			for _, c := range got.Checks {
				statuses = append(statuses, c.Status)
				if c.Detail != "" {
					details = append(details, c.Check+": "+c.Detail)
				}
			}
			return strings.Join(statuses, " ") == row.statuses && len(details) == 1 && strings.HasPrefix(details[0], row.check+": "+row.want)
		}, time.Minute, 50*time.Millisecond, "%s: %+v", row.why, &got)
	}
	metrics := strings.TrimSuffix(url, "readyz") + "metrics"
	require.Regexp(t, `\nsendlimit_store_clock_step_seconds 89\d\d\d`, get(t, metrics).body)
	m.SetTime(time.Now().Add(-10 * time.Minute))
	require.Eventually(t, func() bool {
		return strings.Contains(get(t, url).body, `{"check":"clock","status":"warning","detail":"the clock of Redis has stepped back by `)
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, http.StatusOK, get(t, url).status, "it delivers, late")
	require.Regexp(t, `\nsendlimit_store_clock_step_seconds -(59|6\d)\d`, get(t, metrics).body)
	require.Regexp(t, `\nsendlimit_store_clock_ahead_seconds -(59|6\d)\d`, get(t, metrics).body)
}

// A probe gets its answer in time, also of a store that gives none. What can't be gathered is
// left out of the metrics and counted, and the rest is told.
func TestAStoreThatHangs(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	m, _, environ := elsewhere(t)
	worker := start(t, environ).started(t)
	hang := make(chan struct{})
	defer close(hang)
	m.Server().SetPreHook(func(_ *server.Peer, command string, _ ...string) bool {
		if command == "PING" || command == "INFO" || command == "SMEMBERS" { // of health, of the memory, and of the queue
			<-hang
		}
		return false
	})
	for _, page := range []string{"healthz", "readyz"} {
		got := get(t, worker.page(t, page))
		require.Equal(t, http.StatusServiceUnavailable, got.status)
		if page == "readyz" {
			require.Contains(t, got.body, `"detail":"Redis did not answer in time"`, "nothing was asked for that could be asked for again")
		}
	}
	for range 3 { // it is not asked again at once
		got := series(t, worker.page(t, "metrics"))
		require.Equal(t, "1", got[`sendlimit_collect_failures_total{source="memory"}`])
		require.Equal(t, "1", got[`sendlimit_collect_failures_total{source="queue"}`])
		require.NotContains(t, got, `sendlimit_queue_tasks{state="scheduled"}`)
		require.Equal(t, "0", got["sendlimit_dead_letters"])
		require.Contains(t, got, "go_goroutines")
	}
}
