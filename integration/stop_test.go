package integration_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// TestWorkerProcessIsStopped tests what the built worker promises to operators about a
// SIGTERM.
func TestWorkerProcessIsStopped(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	for name, test := range map[string]func(*testing.T, programs){
		"again and again under load":   workersStoppedUnderLoad,
		"while its provider hangs":     workerStoppedWhileItsProviderHangs,
		"while its store says nothing": workerStoppedBeforeItDelivers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// stoppedWithin tells a worker to stop, and requires that it ends well and in time.
func (w *workerProcess) stoppedWithin(t *testing.T, bound time.Duration) {
	t.Helper()
	began := time.Now()
	require.Zero(t, w.end(t), "%s", &w.stderr)
	require.Less(t, time.Since(began), bound)
}

// Workers are replaced while messages are submitted, moved, cancelled and sent. Some
// stop before the next has begun, some after. Everything arrives once.
func workersStoppedUnderLoad(t *testing.T, p programs) {
	t.Helper()
	const shutdown = 4 * time.Second
	server := redistest.Real(t)
	l := newLoad(t, server, "3/1s", "8/5s")
	l.receiver.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		return notifiertest.Answer{Delay: 100 * time.Millisecond}
	})
	start := func() *workerProcess {
		t.Helper()
		w := p.worker(t, []string{"REDIS_URL=" + server.URL(), "SENDLIMIT_PUSH_URL=" + l.receiver.URL()},
			"--push-timeout", "3s", "--shutdown-timeout", shutdown.String(), "--deliveries", "24")
		w.delivers(t)
		return w
	}
	worker := start()
	stop := l.call(server.Addr, 4)
	for i := range 6 {
		l.awaitRequests(20 * (i + 1))
		if i%2 == 0 {
			next := start()
			worker.stoppedWithin(t, shutdown)
			worker = next
			continue
		}
		worker.stoppedWithin(t, shutdown)
		worker = start()
	}
	l.awaitRequests(140)
	stop()
	l.settle(40 * time.Second)
	worker.stoppedWithin(t, shutdown)
}

// The provider does not answer: running deliveries are given up by their own timeout,
// and the worker ends within its bound with all of them settled. The next worker sends
// them again, and no attempt is made twice.
func workerStoppedWhileItsProviderHangs(t *testing.T, p programs) {
	t.Helper()
	const messages, shutdown = 30, 3 * time.Second
	server := redistest.Real(t)
	l := newLoad(t, server, "1/minute")
	var hangs atomic.Bool
	hangs.Store(true)
	l.receiver.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		if hangs.Load() {
			return notifiertest.Answer{Delay: time.Minute}
		}
		return notifiertest.Answer{}
	})
	start := func() *workerProcess {
		t.Helper()
		w := p.worker(t, []string{"REDIS_URL=" + server.URL(), "SENDLIMIT_PUSH_URL=" + l.receiver.URL()},
			"--push-timeout", "2s", "--shutdown-timeout", shutdown.String(),
			"--retry-min", "200ms", "--retry-max", "500ms", "--max-attempts", "50")
		w.delivers(t)
		return w
	}
	worker := start()
	submitter, err := submit.New(taskstest.Open(t, l.client(server.Addr), backend.Options{}), submit.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, submitter.Close()) }()
	for i := range messages {
		m := message.Message{ID: "m", User: fmt.Sprintf("user-%d", i), SendAt: time.Now().Add(time.Second), Title: "m"}
		o, err := submitter.Submit(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = l.receiver.Wait(ctx, messages)
	require.NoError(t, err)
	worker.stoppedWithin(t, shutdown)

	state := func(user string) userState {
		return newCrashStore(t, server.Client(), "").state(t, user, []string{"m"})
	}
	for i := range messages {
		record := state(fmt.Sprintf("user-%d", i)).records["m"]
		require.Equal(t, statePending, record["s"], "nothing is left in the middle: %q", record)
	}
	hangs.Store(false)
	last := start()
	require.Eventually(t, func() bool {
		for i := range messages {
			if state(fmt.Sprintf("user-%d", i)).records["m"]["s"] != stateDelivered {
				return false
			}
		}
		return true
	}, 60*time.Second, 50*time.Millisecond)
	last.stoppedWithin(t, shutdown)
	attempts := make(map[string]int)
	for _, r := range l.receiver.Requests() {
		payload, err := r.Payload()
		require.NoError(t, err)
		attempts[payload.User]++
		require.Equal(t, attempts[payload.User], payload.Attempt, "an attempt that was made before")
	}
	require.Len(t, attempts, messages)
	for user, made := range attempts {
		require.Equal(t, strconv.Itoa(made), state(user).records["m"]["n"])
	}
}

// A worker that waits for a store that accepts connections but never answers has not
// failed when it is told to stop.
func workerStoppedBeforeItDelivers(t *testing.T, p programs) {
	t.Helper()
	mute, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = mute.Close() })
	worker := p.worker(t, []string{"REDIS_URL=redis://" + mute.Addr().String(), "SENDLIMIT_PUSH_URL=log:"})
	conn, err := mute.Accept()
	require.NoError(t, err)
	defer conn.Close()
	// A read that has begun is not interrupted: it ends by its own timeout of 3 s.
	worker.stoppedWithin(t, 5*time.Second)
}
