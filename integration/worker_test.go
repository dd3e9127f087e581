package integration_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// TestWorkerProcess tests what the built worker promises to operators.
func TestWorkerProcess(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	for name, test := range map[string]func(*testing.T, programs){
		"delivers with nothing installed":                workerDeliversWithNothingInstalled,
		"two on one address":                             workerFindsItsAddressTaken,
		"ends at once at a second signal":                workerEndsAtASecondSignal,
		"says whether it is well":                        workerSaysWhetherItIsWell,
		"refuses a store of one's own without a target":  workerNeedsAPushTarget,
		"refuses a store that evicts":                    workerRefusesAStoreThatEvicts,
		"changes its rules while it runs":                workerChangesItsRules,
		"says that the file's rules are not the store's": workerSaysThatRulesDiffer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

func workerDeliversWithNothingInstalled(t *testing.T, p programs) {
	t.Helper()
	worker := p.worker(t, nil)
	worker.delivers(t)
	require.Contains(t, worker.stderr.String(), "started the embedded store, whose data is lost when this worker ends")
	environ := worker.environ(t)

	submitted := p.enqueue(t, environ, "push", "--user", "alice", "--at", "+2s", "--title", "Hello", "--id", "hello", "--json")
	require.Zero(t, submitted.status, submitted.stderr)
	due := timeIn(t, submitted.stdout, "send_at")
	refused := p.enqueue(t, environ, "push", "--user", "alice", "--at", "+30s", "--title", "Too soon")
	require.Equal(t, 3, refused.status, refused.stderr)

	require.Eventually(t, func() bool { return strings.Contains(worker.stdout.String(), "\n") }, 60*time.Second, 10*time.Millisecond)
	delivery := worker.stdout.String()
	require.Contains(t, delivery, `"id":"hello","user":"alice"`)
	delivered := timeIn(t, delivery, "delivered_at")
	require.False(t, delivered.Before(due), "sent %s before its time", due.Sub(delivered))

	require.Zero(t, worker.end(t))
	require.Equal(t, delivery, worker.stdout.String(), "deliveries only")
	require.Equal(t, 5, p.enqueue(t, environ, "list", "--user", "alice").status, "it kept nothing")
}

func workerFindsItsAddressTaken(t *testing.T, p programs) {
	t.Helper()
	first := p.worker(t, nil)
	first.delivers(t)
	address := first.apiAddress(t)
	second := p.worker(t, nil, "--listen", address)
	require.Equal(t, 2, second.status(t))
	require.Contains(t, second.stderr.String(), address+" is in use: another program listens there; choose another address with --listen")
}

func workerEndsAtASecondSignal(t *testing.T, p programs) {
	t.Helper()
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	receiver.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		return notifiertest.Answer{Delay: time.Minute}
	})
	worker := p.worker(t, nil, "--push-url", receiver.URL())
	worker.delivers(t)
	require.Zero(t, p.enqueue(t, worker.environ(t), "push", "--user", "alice", "--at", "now", "--title", "Hello").status)
	_, err := receiver.Wait(t.Context(), 1)
	require.NoError(t, err)

	begun := time.Now()
	worker.signal(t, syscall.SIGTERM)
	worker.logged(t, "stopping", "msg")
	worker.signal(t, syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), worker.status(t))
	require.Less(t, time.Since(begun), 9*time.Second, "sooner than the delivery's timeout")
}

func workerSaysWhetherItIsWell(t *testing.T, p programs) {
	t.Helper()
	redis := redistest.Real(t, "--appendonly", "yes")
	worker := p.worker(t, []string{"REDIS_URL=" + redis.URL()}, "--push-url", "log:")
	worker.delivers(t)
	url := worker.logged(t, "health endpoint", "url")
	require.Equal(t, http.StatusOK, statusOf(t, url))
	require.Equal(t, http.StatusNotFound, statusOf(t, strings.TrimSuffix(url, "z")))
	redis.Kill()
	require.Equal(t, http.StatusServiceUnavailable, statusOf(t, url))
	require.NoError(t, redis.Restart(t.Context()))
	require.Eventually(t, func() bool { return statusOf(t, url) == http.StatusOK }, 60*time.Second, 50*time.Millisecond)
	require.Zero(t, worker.end(t))
}

func workerNeedsAPushTarget(t *testing.T, p programs) {
	t.Helper()
	worker := p.worker(t, []string{"REDIS_URL=redis://127.0.0.1:1"})
	require.Equal(t, 2, worker.status(t))
	require.Equal(t, "error: --push-url is required with --redis-url: an http or https URL, or log: to only log messages;"+
		" or a channel to devices: see --fcm-credentials-file, --apns-key-file and --webpush-private-key-file\n", worker.stderr.String())
	require.Empty(t, worker.stdout.String())
}

func workerRefusesAStoreThatEvicts(t *testing.T, p programs) {
	t.Helper()
	redis := redistest.Real(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	worker := p.worker(t, []string{"REDIS_URL=" + redis.URL()}, "--push-url", "log:")
	require.Equal(t, 5, worker.status(t))
	require.Contains(t, worker.stderr.String(), "has the maxmemory-policy allkeys-lru, which deletes scheduled messages when memory is full")
}

func workerChangesItsRules(t *testing.T, p programs) {
	t.Helper()
	redis := redistest.Shared(t)
	environ := []string{"REDIS_URL=" + redis.URL()}
	worker := p.worker(t, environ, "--push-url", "log:")
	worker.delivers(t)

	shown := p.workerCommand(t, environ, "policy", "show")
	require.Contains(t, shown.stdout, "\nrules:\n  - 1/minute\n  - 5/hour\n  - 10/calendar_day\n")
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(shown.stdout, "5/hour", "1/6h", 1)), 0o600))
	applied := p.workerCommand(t, environ, "policy", "apply", file)
	require.Zero(t, applied.status, applied.stderr)
	require.Contains(t, applied.stdout, "1/minute, 5/hour, 10/calendar_day → 1/minute, 1/6h, 10/calendar_day\n")

	require.Zero(t, p.enqueue(t, environ, "push", "--user", "alice", "--at", "+24h", "--title", "One").status)
	refused := p.enqueue(t, environ, "push", "--user", "alice", "--at", "+26h", "--title", "Two", "--json")
	require.Equal(t, 3, refused.status, refused.stderr)
	require.Contains(t, refused.stdout, `"rule":"1/6h"`)
	require.Zero(t, worker.end(t))
}

func workerSaysThatRulesDiffer(t *testing.T, p programs) {
	t.Helper()
	redis := redistest.Shared(t)
	environ := []string{"REDIS_URL=" + redis.URL(), "SENDLIMIT_PUSH_URL=log:"}
	first := p.worker(t, environ)
	first.delivers(t)
	require.Zero(t, first.end(t))

	settings := filepath.Join(t.TempDir(), "sendlimit.yaml")
	require.NoError(t, os.WriteFile(settings, []byte("policy:\n  rules: [9/hour]\n"), 0o600))
	second := p.worker(t, environ, "--config", settings)
	second.delivers(t)
	const differ = "the rules in the settings differ from the store's"
	require.Equal(t, "9/hour", second.logged(t, differ, "settings"))
	require.Equal(t, "1/minute, 5/hour, 10/calendar_day", second.logged(t, differ, "store"))
}
