package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
)

// prometheus is the real program, with the alerts of deploy/prometheus. They wait for seconds where the
// file says minutes.
type prometheus struct {
	address string
	alerts  map[string]bool // that have not fired yet
}

func startPrometheus(t *testing.T, targets ...string) prometheus {
	t.Helper()
	program := needProgram(t, "prometheus")
	rules, err := os.ReadFile("../deploy/prometheus/alerts.yaml")
	require.NoError(t, err)
	soon := string(rules)
	for _, change := range [][2]string{
		{`for: \d+m`, "for: 0s"}, {`(increase\(\w+|_bucket(?:\{method="post"\})?)\[\d+[mh]\]`, "$1[60s]"}, // on a busy machine a scrape may fail for seconds
		{`\[\d+[mh]\]`, "[10s]"}, {`offset 1h`, "offset 5s"}, {`(_seconds\)) > 60`, "$1 > 1"},
	} {
		soon = regexp.MustCompile(change[0]).ReplaceAllString(soon, change[1])
	}
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "alerts.yaml"), []byte(soon), 0o600))
	settings := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [alerts.yaml]\n"+
		"scrape_configs: [{job_name: sendlimit, static_configs: [{targets: [%s]}]}]\n", strings.Join(targets, ", "))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "prometheus.yaml"), []byte(settings), 0o600))

	var log output.Buffer
	command := exec.CommandContext(t.Context(), program, "--config.file", filepath.Join(folder, "prometheus.yaml"),
		"--storage.tsdb.path", filepath.Join(folder, "data"), "--web.listen-address", "127.0.0.1:0")
	command.Stdout, command.Stderr = &log, &log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	listening, p := regexp.MustCompile(`Listening on"? address=(\S+)`), prometheus{alerts: map[string]bool{}}
	for _, found := range regexp.MustCompile(`alert: Sendlimit(\w+)`).FindAllStringSubmatch(soon, -1) {
		p.alerts[found[1]] = true
	}
	require.Eventually(t, func() bool {
		found := listening.FindStringSubmatch(log.String())
		if found != nil {
			p.address = found[1]
		}
		return found != nil
	}, time.Minute, 50*time.Millisecond, "%s", &log)
	return p
}

// fires waits for alerts.
func (p prometheus) fires(t *testing.T, names ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, name := range names {
		missing["Sendlimit"+name] = true
		delete(p.alerts, name)
	}
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.address+"/api/v1/alerts", http.NoBody)
		if err != nil {
			return false
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		var answer struct {
			Data struct {
				Alerts []struct {
					Labels map[string]string
					State  string
				}
			}
		}
		if json.NewDecoder(response.Body).Decode(&answer) != nil {
			return false // it is starting
		}
		for _, alert := range answer.Data.Alerts {
			if alert.State == "firing" {
				delete(missing, alert.Labels["alertname"])
			}
		}
		return len(missing) == 0
	}, 4*time.Minute, 200*time.Millisecond, "these do not fire: %v", missing)
}

// Whatever stops or endangers deliveries fires its alert in a real Prometheus that scrapes real workers.
func TestAlertsFireForReal(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	store, environ := storeWithRules(t)
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	var status atomic.Int64
	status.Store(http.StatusOK)
	receiver.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		return notifiertest.Answer{Status: int(status.Load())}
	})
	stepped := redistest.RealStepped(t)
	seedDefaultPolicy(t, stepped.Client())
	lone := []string{"REDIS_URL=" + stepped.URL(), "SENDLIMIT_PUSH_URL=" + receiver.URL(), "SENDLIMIT_HORIZON=15s"}
	worker := p.worker(t, append(environ, "SENDLIMIT_PUSH_URL="+receiver.URL()), "--max-attempts", "1")
	worker.delivers(t)
	another := p.worker(t, lone, "--relay=false")
	meta, address := keyspace.KeysUnder("").Meta(), store.Client().HGet(t.Context(), keyspace.KeysUnder("").Meta(), "address").Val()
	require.NoError(t, store.Client().HSet(t.Context(), meta, "address", "elsewhere:6379").Err())
	held := p.worker(t, append(environ, "SENDLIMIT_PUSH_URL="+receiver.URL()))
	prometheus := startPrometheus(t, worker.apiAddress(t), another.apiAddress(t), held.apiAddress(t))
	users := 0
	submit := func(n int) {
		t.Helper()
		for range n {
			users++
			done := p.enqueue(t, environ, "push", "--user", fmt.Sprint("user-", users), "--at", "now", "--title", "Hi")
			require.Zero(t, done.status, done.stderr)
		}
	}
	set := func(name, value string) {
		t.Helper()
		require.NoError(t, store.Client().ConfigSet(t.Context(), name, value).Err())
	}
	memory := func() redisstore.Memory {
		t.Helper()
		servers, err := redisstore.ReadMemory(t.Context(), store.Client())
		require.NoError(t, err)
		return servers[0]
	}

	prometheus.fires(t, "HeldBack")
	stopped := p.workerCommand(t, environ, "sending", "stop", "--reason", "a test")
	require.Zero(t, stopped.status, stopped.stderr)
	prometheus.fires(t, "SendingStopped")
	started := p.workerCommand(t, environ, "sending", "start")
	require.Zero(t, started.status, started.stderr)
	require.NoError(t, held.command.Process.Kill())
	require.NoError(t, store.Client().HSet(t.Context(), meta, "address", address).Err())
	stepped.Step(t, -20*time.Second)
	prometheus.fires(t, "ClockSteppedBack", "ClocksDiffer")
	require.NoError(t, store.Client().Set(t.Context(), "asynq:{sl:push}:paused", 1, 0).Err())
	submit(1)
	late := time.Now().Add(8 * time.Second) // more than the alert allows
	prometheus.fires(t, "QueuePaused", "NothingDelivered")
	time.Sleep(time.Until(late))
	require.NoError(t, store.Client().Del(t.Context(), "asynq:{sl:push}:paused").Err())
	prometheus.fires(t, "Late")
	status.Store(http.StatusBadRequest)
	submit(12)
	prometheus.fires(t, "DeadLettersGrow")
	submit(3) // a rate needs a count before
	prometheus.fires(t, "ProviderFails")
	status.Store(http.StatusUnauthorized)
	submit(5)
	prometheus.fires(t, "ChannelStopped")

	far := p.enqueue(t, lone, "push", "--user", "far", "--at", "+20s", "--title", "Hi")
	require.Zero(t, far.status, far.stderr)
	prometheus.fires(t, "HandOverBehind") // no relay has the message
	stepped.Step(t, 2*time.Minute)
	prometheus.fires(t, "ClockStepped")

	file := filepath.Join(t.TempDir(), "messages.ndjson")
	var lines strings.Builder
	for i := range 400 {
		fmt.Fprintf(&lines, "{\"id\": \"m\", \"user\": \"bulk-%d\", \"send_at\": %q, \"title\": \"Hi\"}\n", i, time.Now().Add(time.Hour).Format(time.RFC3339))
	}
	require.NoError(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	many := p.enqueue(t, environ, "bulk", file)
	require.Zero(t, many.status, many.stderr)
	// So that what connections take is little beside the room that is left: else all keys are evicted.
	for i := range 300 {
		require.NoError(t, store.Client().Set(t.Context(), fmt.Sprint("ballast-", i), strings.Repeat("x", 100_000), 0).Err())
	}
	set("maxmemory", strconv.FormatInt(memory().Used*10/9, 10))
	prometheus.fires(t, "StoreNearlyFull", "StoreFull")
	set("maxmemory-policy", "allkeys-random")
	prometheus.fires(t, "StoreUnfit")
	// What an eviction takes is left to chance, and may leave no trace. Here it takes other keys.
	set("maxmemory", "0")
	set("maxmemory-policy", "volatile-ttl")
	for i := range 1000 {
		require.NoError(t, store.Client().Set(t.Context(), fmt.Sprint("other-", i), strings.Repeat("x", 10_000), 10*time.Minute).Err())
	}
	for i := range 10 {
		require.NoError(t, store.Client().Del(t.Context(), keyspace.KeysUnder("").Record(fmt.Sprint("bulk-", i), "m")).Err())
	}
	set("maxmemory", strconv.FormatInt(memory().Used-150_000, 10))
	prometheus.fires(t, "KeysEvicted", "MessagesLost")
	set("maxmemory", "0")
	set("maxmemory-policy", "noeviction")

	redis, err := os.FindProcess(store.PID())
	require.NoError(t, err)
	require.NoError(t, redis.Signal(syscall.SIGSTOP))
	calling, stop := context.WithCancel(t.Context())
	defer stop()
	messages := "http://" + worker.apiAddress(t) + "/v1/messages"
	go func() {
		for calling.Err() == nil {
			request, err := http.NewRequestWithContext(calling, http.MethodPost, messages,
				strings.NewReader(`{"user": "a", "send_at": "now", "title": "Hi"}`))
			if err != nil {
				return
			}
			request.Header.Set("Content-Type", "application/json")
			if response, err := http.DefaultClient.Do(request); err == nil {
				_ = response.Body.Close()
			}
		}
	}()
	prometheus.fires(t, "StoreDoesNotAnswer", "APIFails", "APISlow")
	stop()
	require.NoError(t, redis.Signal(syscall.SIGCONT))
	require.NoError(t, worker.command.Process.Kill())
	prometheus.fires(t, "ProcessDown")
	require.NoError(t, another.command.Process.Kill())
	prometheus.fires(t, "Down")

	// These endanger no delivery. Promtool tests them.
	for _, name := range []string{"DeadAlertsGrow", "DevicesGone", "EventsBehind", "CallbackEventsGivenUp", "LoginsRefused"} {
		delete(prometheus.alerts, name)
	}
	require.Empty(t, prometheus.alerts, "these did not fire")
}
