package tasks

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// Where the local clock is off the store's, deliveries go by the
// store's, from the first one on.
func TestDeliveriesFollowTheStoresClock(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{3 * time.Second, -3 * time.Second, 90 * time.Minute, -time.Millisecond} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				recorder := deliverByClock(t, func() time.Time { return time.Now().Add(off) })
				require.Len(t, recorder.Deliveries(), 1)
				d := recorder.Deliveries()[0]
				late := d.At.Sub(d.Notification.SendAt)
				require.GreaterOrEqual(t, late, time.Duration(0), "early")
				require.Less(t, late, time.Millisecond)
			})
		})
	}
}

// deliverByClock has a worker whose local clock is local deliver one message.
func deliverByClock(t *testing.T, local func() time.Time) *notifiertest.Recorder {
	t.Helper()
	client := pipedStore(t)
	recorder := notifiertest.NewRecorder(time.Now)
	w, err := NewWorker(taskstest.Open(t, client, backend.Options{}), WorkerOptions{Notifier: recorder})
	require.NoError(t, err)
	w.handler.Clock.Local = local
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
	}()

	s, err := submit.New(taskstest.Open(t, client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	o, err := s.Submit(t.Context(), message.Message{User: "alice", Title: "a", SendAt: time.Now().Add(5678 * time.Millisecond)})
	require.NoError(t, err)
	require.Equal(t, message.Accepted, o.Outcome)
	time.Sleep(10 * time.Second)
	return recorder
}

// A worker whose clock is a minute ahead and one whose is a minute behind deliver as well as
// the right one beside them, also more messages than a worker handles at a time.
func TestWorkersWithOtherClocksBesideEachOther(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	t.Run("in the queue at once", func(t *testing.T) {
		t.Parallel()
		deliverByOtherClocks(t, sendlimit.DefaultHorizon)
	})
	t.Run("handed over", func(t *testing.T) {
		t.Parallel()
		deliverByOtherClocks(t, 5*time.Second)
	})
}

func deliverByOtherClocks(t *testing.T, horizon time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const crowd = 700
		client := pipedStore(t)
		recorder := notifiertest.NewRecorder(time.Now)
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 3)
		for _, off := range []time.Duration{time.Minute, -time.Minute, 0} {
			w, err := NewWorker(taskstest.Open(t, client, backend.Options{Options: sendlimit.Options{Horizon: horizon}}), WorkerOptions{Notifier: recorder})
			require.NoError(t, err)
			w.handler.Clock.Local = func() time.Time { return time.Now().Add(off) }
			go func() { ended <- w.Run(ctx) }()
		}
		defer func() {
			stop()
			for range 3 {
				require.NoError(t, <-ended)
			}
		}()
		s, err := submit.New(taskstest.Open(t, client, backend.Options{Options: sendlimit.Options{Horizon: horizon}}), submit.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		began := time.Now()
		for i := range crowd {
			at := began.Add(20*time.Second + time.Duration(i)*50*time.Millisecond)
			o, err := s.Submit(t.Context(), message.Message{User: strconv.Itoa(i), Title: "a", SendAt: at})
			require.NoError(t, err)
			require.Equal(t, message.Accepted, o.Outcome)
		}
		time.Sleep(70 * time.Second)
		require.Len(t, recorder.Deliveries(), crowd)
		for _, d := range recorder.Deliveries() {
			late := d.At.Sub(d.Notification.SendAt)
			require.GreaterOrEqual(t, late, time.Duration(0), "early")
			require.Less(t, late, 500*time.Millisecond)
		}
	})
}

// pipedStore returns a client of an embedded store with the default policy, over pipes.
func pipedStore(t *testing.T) *redis.Client {
	t.Helper()
	_, client := redistest.Virtual(t)
	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	return client
}
