package integration_test

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// TestWorkerProcessIsStopped tests what the built worker promises to operators about a
// SIGTERM.
func TestWorkerProcessIsStopped(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	for name, test := range map[string]func(*testing.T, programs){
		"while its provider hangs":     workerStoppedWhileItsProviderHangs,
		"while its store says nothing": workerStoppedBeforeItDelivers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// stoppedWithin tells a worker to stop, and requires that it ends well and in time, but for what a
// busy machine needs to end a process. The stories in virtual time have the exact time.
func (w *workerProcess) stoppedWithin(t *testing.T, bound time.Duration) {
	t.Helper()
	began := time.Now()
	require.Zero(t, w.end(t), "%s", &w.stderr)
	require.Less(t, time.Since(began), bound+5*time.Second)
}

// The provider does not answer: running deliveries are given up by their own timeout,
// and the worker ends within its bound with all of them settled. The next worker sends
// them again, and no attempt is made twice.
func workerStoppedWhileItsProviderHangs(t *testing.T, p programs) {
	t.Helper()
	const messages, shutdown = 30, 3 * time.Second
	server := redistest.Shared(t)
	d := newDelivery(t, server.Options())
	var hangs atomic.Bool
	hangs.Store(true)
	d.receiver.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		if hangs.Load() {
			return notifiertest.Answer{Delay: time.Minute}
		}
		return notifiertest.Answer{}
	})
	start := func() *workerProcess {
		t.Helper()
		w := p.worker(t, []string{"REDIS_URL=" + server.URL(), "SENDLIMIT_PUSH_URL=" + d.receiver.URL()},
			"--push-timeout", "2s", "--shutdown-timeout", shutdown.String(),
			"--retry-min", "200ms", "--retry-max", "500ms", "--max-attempts", "50")
		w.delivers(t)
		return w
	}
	worker := start()
	d.crowd(messages, time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := d.receiver.Wait(ctx, messages)
	require.NoError(t, err)
	worker.stoppedWithin(t, shutdown)

	record := func(user string) map[string]string {
		return newCrashStore(t, server.Client(), "").state(t, user, []string{"m"}).records["m"]
	}
	for user := range d.due {
		require.Equal(t, statePending, record(user)["s"], "nothing is left in the middle: %q", record(user))
	}
	hangs.Store(false)
	last := start()
	d.settled(server.Client())
	last.stoppedWithin(t, shutdown)
	attempts := make(map[string]int)
	for _, r := range d.receiver.Requests() {
		payload, err := r.Payload()
		require.NoError(t, err)
		attempts[payload.User]++
		require.Equal(t, attempts[payload.User], payload.Attempt, "an attempt that was made before")
	}
	require.Len(t, attempts, messages)
	for user, made := range attempts {
		require.Equal(t, strconv.Itoa(made), record(user)["n"])
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
