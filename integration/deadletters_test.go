package integration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// If a provider always answers 503, messages become dead letters, and are
// not enqueued in an endless loop. When the provider is back, they can still be sent.
func TestDeadLettersOfAProcess(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	redis := redistest.Shared(t)
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	var well atomic.Bool
	receiver.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		if well.Load() {
			return notifiertest.Answer{}
		}
		return notifiertest.Answer{Status: http.StatusServiceUnavailable}
	})
	environ := []string{"REDIS_URL=" + redis.URL()}
	worker := p.worker(t, append(environ, "SENDLIMIT_PUSH_URL="+receiver.URL(),
		"SENDLIMIT_MAX_ATTEMPTS=3", "SENDLIMIT_RETRY_MIN=100ms", "SENDLIMIT_RETRY_MAX=1s"))
	worker.delivers(t)
	for _, user := range []string{"alice", "bob", "carol"} {
		sent := p.enqueue(t, environ, "push", "--user", user, "--id", "m", "--at", "now", "--title", "Hello "+user)
		require.Zero(t, sent.status, sent.stderr)
	}
	letters := func(args ...string) result {
		return p.workerCommand(t, environ, append([]string{"dead-letters"}, args...)...)
	}
	require.Eventually(t, func() bool { return strings.Count(letters("list", "--json").stdout, "\n") == 3 },
		60*time.Second, 100*time.Millisecond)
	require.Len(t, receiver.Requests(), 9, "three attempts each")
	tasks, err := redis.Client().Keys(t.Context(), "asynq:*:t:*").Result()
	require.NoError(t, err)
	require.Empty(t, tasks, "the queue has nothing left, also not in its archive, which forgets after 10,000 tasks")

	listed := letters("list", "--user", "alice", "--json").stdout
	require.Contains(t, listed, `{"id":"m","user":"alice","status":"failed"`)
	require.Contains(t, listed, `"attempts":3,"reason":"unavailable"`)
	require.Contains(t, letters("show", "--user", "alice", "m", "--content").stdout, `"Hello alice"`)
	failed := p.enqueue(t, environ, "status", "--user", "alice", "m")
	require.Contains(t, failed.stdout, "failed: message m to alice was given up at ")
	require.Contains(t, failed.stdout, "delivery failed (unavailable) 3 times")

	well.Store(true)
	purged := letters("purge", "--user", "carol", "m")
	require.Zero(t, purged.status, purged.stderr)
	retried := letters("retry", "--user", "alice", "m", "--json")
	require.Zero(t, retried.status, retried.stderr)
	again := timeIn(t, retried.stdout, "send_at")
	all := letters("retry", "--all", "--yes")
	require.Equal(t, "1 dead letter sent after all\n", all.stdout)
	require.Eventually(t, func() bool { return len(receiver.Requests()) == 11 }, 60*time.Second, 20*time.Millisecond)
	users := make(map[string]int)
	for _, request := range receiver.Requests()[9:] {
		payload, err := request.Payload()
		require.NoError(t, err)
		require.Equal(t, "Hello "+payload.User, payload.Title)
		require.Equal(t, 1, payload.Attempt)
		require.False(t, request.Arrived.Before(again.Add(-time.Second)), "by clocks of one machine")
		users[payload.User]++
	}
	require.Equal(t, map[string]int{"alice": 1, "bob": 1}, users)
	require.Eventually(t, func() bool {
		return strings.Contains(p.enqueue(t, environ, "status", "--user", "alice", "m", "--json").stdout, `"status":"delivered"`)
	}, 60*time.Second, 50*time.Millisecond)
	require.Empty(t, letters("list", "--json").stdout)
	require.Equal(t, 4, p.enqueue(t, environ, "status", "--user", "carol", "m").status)
	require.Zero(t, worker.end(t))
	require.Len(t, receiver.Requests(), 11)
}

// Dead letters of all masters of a cluster are counted, listed in order, retried and
// purged.
func TestDeadLettersOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.SharedCluster(t)
	o := sendlimit.Options{Records: true, Prefix: redistest.Prefix(t)}
	timeline, err := sendlimit.NewTimeline(cluster.Client(), o)
	require.NoError(t, err)
	gate, err := messages.NewGate(cluster.Client(), o)
	require.NoError(t, err)
	dead, err := messages.NewDeadLetters(cluster.Client(), o)
	require.NoError(t, err)

	const users = 100
	began := time.Now().UTC().Truncate(time.Second)
	user := func(i int) string { return fmt.Sprintf("user %d", i) }
	for i := range users {
		r := sendlimit.Request{
			User: user(i), ID: "m", At: began, Now: began,
			Record: &sendlimit.Record{Generation: "g1", Content: []byte("text")},
		}
		d, err := timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		delivery := messages.Delivery{User: r.User, ID: r.ID, Generation: "g1", Nonce: "n"}
		ended := began.Add(time.Duration(i) * time.Millisecond)
		_, err = gate.Claim(t.Context(), delivery, time.Minute, ended)
		require.NoError(t, err)
		settled, err := gate.Settle(t.Context(), delivery, messages.Settlement{Outcome: messages.Failed, Reason: "gone"}, ended)
		require.NoError(t, err)
		require.True(t, settled)
	}
	count, err := dead.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, users, count)
	listed := func() []string {
		letters, err := dead.List(t.Context(), messages.DeadLettersRequest{})
		require.NoError(t, err)
		var names []string
		for _, l := range letters {
			names = append(names, l.User)
		}
		return names
	}
	var want []string
	for i := range users {
		want = append(want, user(i))
	}
	require.Equal(t, want, listed())
	early, err := dead.List(t.Context(), messages.DeadLettersRequest{Before: began.Add(30 * time.Millisecond), Limit: 10})
	require.NoError(t, err)
	require.Len(t, early, 10)
	early, err = dead.List(t.Context(), messages.DeadLettersRequest{
		Before: began.Add(30 * time.Millisecond), After: early[9], Limit: 100,
	})
	require.NoError(t, err)
	require.Len(t, early, 20)
	require.Equal(t, user(10), early[0].User)

	letter, ok, err := dead.Get(t.Context(), user(7), "m")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "text", string(letter.Content))
	d, err := dead.Retry(t.Context(), messages.RetryRequest{User: user(0), ID: "m", Generation: "g2"})
	require.NoError(t, err)
	require.True(t, d.Allowed)
	purged, err := dead.Purge(t.Context(), user(1), "m")
	require.NoError(t, err)
	require.True(t, purged)
	require.Equal(t, want[2:], listed())
	standing, err := story.RecordsIn(t, cluster.Client(), o.Prefix).Look(t.Context(), user(0), "m", "none")
	require.NoError(t, err)
	require.Equal(t, []messages.State{messages.StatePending, messages.StateUnknown},
		[]messages.State{standing[0].State, standing[1].State})
	forgotten, more, err := dead.PurgeBefore(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Equal(t, []any{users - 2, false}, []any{forgotten, more})
}
