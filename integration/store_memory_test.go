package integration_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// fill submits as fast as possible, a message to each user, until the store accepts no
// more. It returns how many were accepted and the error that ended it.
func fill(t *testing.T, submitter *submit.Submitter, at time.Time, body string) (accepted int64, refusal error) {
	t.Helper()
	var next, count atomic.Int64
	var once sync.Once
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 32 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				user := fmt.Sprint("user-", next.Add(1))
				o, err := submitter.Submit(t.Context(), message.Message{
					ID: "m", User: user, SendAt: at, Title: "t", Body: body,
				})
				if err != nil || o.Outcome != message.Accepted {
					once.Do(func() {
						refusal = err
						close(stop)
					})
					return
				}
				count.Add(1)
			}
		})
	}
	all.Wait()
	return count.Load(), refusal
}

// awaitProgress waits until there are enough, for as long as the number grows: the
// speed depends on the machine, so no test bounds it.
func awaitProgress(t *testing.T, want int, count func() int) {
	t.Helper()
	const stalled = time.Minute
	have, since := count(), time.Now()
	for have < want {
		require.Less(t, time.Since(since), stalled, "%d of %d, and no more came", have, want)
		time.Sleep(50 * time.Millisecond)
		if n := count(); n > have {
			have, since = n, time.Now()
		}
	}
}

// runs runs a worker or a relay until the returned function is called.
func runs(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// requireUnavailable requires that an error has a code of an unavailable store.
func requireUnavailable(t *testing.T, code fault.Code, err error) (detail string) {
	t.Helper()
	away, ok := errors.AsType[*fault.UnavailableError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, code, away.Code())
	return away.Detail
}

// A full Redis moves no task from one list to another, and delivers
// nothing. If submits fill it only as far as they may, even as fast as possible, it
// delivers everything.
func TestAFullStoreDelivers(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	t.Run("large messages in the queue", func(t *testing.T) {
		t.Parallel()
		deliverFromAFullStore(t, "20mb", strings.Repeat("x", 4000), backend.Options{}, 0)
	})
	// Their tasks need more memory than is left, so they go to the queue little by little.
	t.Run("small messages in the schedule", func(t *testing.T) {
		t.Parallel()
		deliverFromAFullStore(t, "20mb", strings.Repeat("x", 1000), backend.Options{Options: sendlimit.Options{Horizon: 5 * time.Second}}, 500*time.Millisecond)
	})
}

func deliverFromAFullStore(t *testing.T, maxMemory, body string, options backend.Options, relayEvery time.Duration) {
	t.Helper()
	server := redistest.Real(t, "--maxmemory", maxMemory)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 128, ContextTimeoutEnabled: true})
	defer client.Close()
	seedDefaultPolicy(t, client)
	submitter, err := submit.New(taskstest.Open(t, client, options), submit.Options{Batch: true})
	require.NoError(t, err)
	defer submitter.Close()

	far := time.Now().Add(time.Hour)
	for _, user := range []string{"cancelled", "moved"} {
		o, err := submitter.Submit(t.Context(), message.Message{ID: "m", User: user, SendAt: far, Title: "t"})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	at := time.Now().Add(15 * time.Second)
	accepted, refusal := fill(t, submitter, at, body)
	full := requireUnavailable(t, fault.CodeStoreFull, refusal)
	require.Contains(t, full, "takes no more messages from 85 % on (store_full_at)")
	memory, err := store.ReadMemory(t.Context(), client)
	require.NoError(t, err)
	t.Logf("%d messages, %d %% of the memory", accepted, memory[0].Used*100/memory[0].Max)
	require.Greater(t, accepted, int64(1000))
	require.False(t, memory[0].FullAt(92), "a fast submitter does not fill what is left for the deliveries")

	// What is there can be cancelled. A move would need another task.
	o, err := submitter.Cancel(t.Context(), "cancelled", "m")
	require.NoError(t, err)
	require.Equal(t, message.Cancelled, o.Outcome)
	_, err = submitter.Move(t.Context(), "moved", "m", at)
	requireUnavailable(t, fault.CodeStoreFull, err)

	recorder := notifiertest.NewRecorder(time.Now)
	worker, err := tasks.NewWorker(taskstest.Open(t, client, options), tasks.WorkerOptions{Notifier: recorder, RelayOptions: tasks.RelayOptions{RelayEvery: relayEvery}})
	require.NoError(t, err)
	defer runs(t, worker.Run)()
	awaitProgress(t, int(accepted), func() int { return len(recorder.Deliveries()) })
	seen := map[string]bool{}
	for _, d := range recorder.Deliveries() {
		require.False(t, seen[d.Notification.User], "%s twice", d.Notification.User)
		seen[d.Notification.User] = true
	}
	require.Len(t, seen, int(accepted))

	// Their contents are removed, and there is room again.
	require.Eventually(t, func() bool {
		o, err := submitter.Submit(t.Context(), message.Message{ID: "again", User: "alice", Now: true, Title: "t"})
		return err == nil && o.Outcome == message.Accepted
	}, 60*time.Second, 100*time.Millisecond)
}

// If Redis itself is out of memory, the error is the same.
func TestRedisOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	seedDefaultPolicy(t, server.Client())
	submitter, err := submit.New(taskstest.Open(t, server.Client(), backend.Options{}), submit.Options{})
	require.NoError(t, err)
	defer submitter.Close()
	submit := func(user string) error {
		_, err := submitter.Submit(t.Context(), message.Message{ID: "m", User: user, SendAt: time.Now().Add(time.Hour), Title: "t"})
		return err
	}
	require.NoError(t, submit("alice")) // and now the fullness is not checked for two seconds
	require.NoError(t, server.Client().ConfigSet(t.Context(), "maxmemory", "100kb").Err())
	full := requireUnavailable(t, fault.CodeStoreFull, submit("bob"))
	require.Equal(t, "Redis is full: raise its maxmemory, or wait until messages are delivered and their records expire", full)
}

// A Redis begins to evict while a relay runs. Nothing more is accepted, and afterwards the relay says
// what is lost: nothing that is left counts as pending without being sent.
func TestAStoreThatBeginsToEvict(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t)
	client := server.Client()
	seedDefaultPolicy(t, client)
	var log output.Buffer
	b := taskstest.Open(t, client, backend.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	submitter, err := submit.New(b, submit.Options{})
	require.NoError(t, err)
	defer submitter.Close()
	const messages = 2000
	for i := range messages {
		o, err := submitter.Submit(t.Context(), message.Message{
			ID: "m", User: fmt.Sprint("user-", i), SendAt: time.Now().Add(time.Hour), Title: "t", Body: strings.Repeat("x", 1000),
		})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	relay, err := tasks.NewRelay(b, tasks.RelayOptions{RelayEvery: 100 * time.Millisecond})
	require.NoError(t, err)
	defer runs(t, relay.Run)()
	logged := func(words string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(log.String(), words) }, time.Minute, 50*time.Millisecond, "no %q in %s", words, &log)
	}
	set := func(name, value string) { require.NoError(t, client.ConfigSet(t.Context(), name, value).Err()) }
	set("maxmemory-policy", "allkeys-random")
	logged(`"level":"ERROR","msg":"the store deletes keys when its memory is full, so nothing is accepted"`)
	requireUnfit(t, submitter)

	set("maxmemory", "4mb")
	require.Eventually(t, func() bool { // each write makes room
		require.NoError(t, client.Set(t.Context(), "other", "x", time.Second).Err())
		servers, err := store.ReadMemory(t.Context(), client)
		require.NoError(t, err)
		return servers[0].Evicted > 500
	}, time.Minute, time.Millisecond)
	set("maxmemory-policy", "noeviction")
	set("maxmemory", "0")
	logged(`"msg":"the store has evicted keys, and accepted messages are lost: submit them again, as from their files","servers":1,"lost_at_least":`)
	require.NotContains(t, log.String(), "user-", "no line above debug names a user")
	logged("the store deletes no keys any more: messages are accepted again")
	require.Eventually(t, func() bool {
		pending, err := b.Watch.Pending(t.Context())
		require.NoError(t, err)
		records, err := client.Eval(t.Context(), "return #redis.call('KEYS', 'sl:{p*}:m:*')", nil).Int()
		require.NoError(t, err)
		return pending == records && records < messages
	}, time.Minute, 100*time.Millisecond)
}

// requireUnfit waits until submits are refused, as they are after two seconds.
func requireUnfit(t *testing.T, submitter *submit.Submitter) {
	t.Helper()
	var err error
	tries := 0
	require.Eventually(t, func() bool {
		tries++ // a rule would refuse another message to the same user
		_, err = submitter.Submit(t.Context(), message.Message{User: fmt.Sprint("other-", tries), SendAt: time.Now().Add(2 * time.Hour), Title: "t"})
		return err != nil
	}, time.Minute, 100*time.Millisecond)
	requireUnavailable(t, fault.CodeStoreUnfit, err)
}

// One master of a cluster that evicts is enough. While it does not answer, submits stay refused, and the
// relay does not say otherwise.
func TestAMasterThatBeginsToEvict(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	cluster := redistest.RealCluster(t)
	seedDefaultPolicy(t, cluster.Client())
	var log output.Buffer
	b := taskstest.Open(t, cluster.Client(), backend.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	submitter, err := submit.New(b, submit.Options{})
	require.NoError(t, err)
	defer submitter.Close()
	relay, err := tasks.NewRelay(b, tasks.RelayOptions{RelayEvery: 100 * time.Millisecond})
	require.NoError(t, err)
	defer runs(t, relay.Run)()
	logged := func(words string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(log.String(), words) }, time.Minute, 50*time.Millisecond, "no %q in %s", words, &log)
	}
	last := cluster.Nodes[lastNode].Client()
	set := func(policy string) { require.NoError(t, last.ConfigSet(t.Context(), "maxmemory-policy", policy).Err()) }
	set("volatile-ttl")
	requireUnfit(t, submitter)
	logged("so nothing is accepted")
	require.NoError(t, last.Do(t.Context(), "CLIENT", "PAUSE", 12_000, "ALL").Err())
	requireUnfit(t, submitter)
	// At least one look is in vain before it answers.
	require.Eventually(t, func() bool { return last.Ping(t.Context()).Err() == nil }, time.Minute, 100*time.Millisecond)
	requireUnfit(t, submitter)
	const again = "messages are accepted again"
	require.NotContains(t, log.String(), again)
	set("noeviction")
	logged(again)
	require.Eventually(t, func() bool {
		o, err := submitter.Submit(t.Context(), message.Message{User: "bob", SendAt: time.Now().Add(time.Hour), Title: "t"})
		return err == nil && o.Outcome == message.Accepted
	}, time.Minute, 100*time.Millisecond)
}
