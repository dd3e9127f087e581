package apns_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func TestConnectionsAreKeptAndBounded(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	for range 20 {
		delivered(t, a, order(device()))
	}
	made, _ := s.Connections()
	require.Equal(t, 1, made, "one after the other")
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() { delivered(t, a, order(device())) })
	}
	all.Wait()
	made, _ = s.Connections()
	require.LessOrEqual(t, made, apns.DefaultConnections)
	require.Zero(t, s.Excess(), "pushes wait for a stream")
	require.Len(t, s.Pushes(), 520)
}

// Pushes wait for a stream, and give up certainly if none comes.
func TestPushesWaitForAStream(t *testing.T) {
	t.Parallel()
	s := apple(t, time.Now, 1)
	a := open(t, s, apns.Config{Connections: 1})
	delivered(t, a, order(device()))
	s.Script(notifiertest.APNsAnswer{Delay: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan notifier.Result, 1)
	s.AnswerWith(func() notifiertest.APNsAnswer { return notifiertest.APNsAnswer{} })
	go func() { first <- a.Notify(ctx, order(device())) }()
	require.Eventually(t, func() bool { return s.Scripted() == 0 }, 5*time.Second, time.Millisecond)

	waiting, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	result := a.Notify(waiting, order(device()))
	require.NoError(t, result.Validate())
	require.Equal(t, notifier.ReasonUnreachable, result.Reason, "nothing was sent")

	second := make(chan notifier.Result, 1)
	go func() { second <- a.Notify(t.Context(), order(device())) }()
	cancel()
	require.True(t, (<-first).Uncertain(), "it has arrived")
	require.Equal(t, notifier.Delivered, (<-second).Status)
	made, _ := s.Connections()
	require.Equal(t, 1, made)
	require.Zero(t, s.Excess())
}

// What was certainly not processed is sent again at once; what may have been is not.
func TestFaultsOfStreamsAndConnections(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault     notifiertest.APNsFault
		want      notifier.Status
		reason    notifier.Reason
		processed int // by then
		made      int // connections
	}{
		"a refused stream":          {notifiertest.APNsRefuse, notifier.Delivered, "", 2, 1},
		"a GOAWAY before":           {notifiertest.APNsGoAway, notifier.Delivered, "", 2, 2},
		"a GOAWAY with the answer":  {notifiertest.APNsGoodbye, notifier.Delivered, "", 2, 1},
		"a reset stream":            {notifiertest.APNsReset, notifier.Retry, notifier.ReasonNetwork, 2, 1},
		"a connection that hung up": {notifiertest.APNsHangUp, notifier.Retry, notifier.ReasonNetwork, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, s := openBoth(t)
			delivered(t, a, order(device()))
			s.Script(notifiertest.APNsAnswer{Fault: row.fault})
			result := send(t, a, order(device()))
			require.Equal(t, row.want, result.Status, "%v", result.Err)
			require.Equal(t, row.reason, result.Reason, "%v", result.Err)
			require.Len(t, s.Pushes(), row.processed)
			made, _ := s.Connections()
			require.Equal(t, row.made, made)
			delivered(t, a, order(device()))
		})
	}
}

// The first stream of a connection is no exception.
func TestAGoAwayBeforeTheFirstPush(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	s.Script(notifiertest.APNsAnswer{Fault: notifiertest.APNsGoAway, Reason: "Shutdown"})
	delivered(t, a, order(device()))
	made, _ := s.Connections()
	require.Equal(t, 2, made)
}

// It ends after a few tries, and the result is certain.
func TestAServerThatRefusesEverything(t *testing.T) {
	t.Parallel()
	for _, fault := range []notifiertest.APNsFault{notifiertest.APNsRefuse, notifiertest.APNsGoAway} {
		a, s := openBoth(t)
		s.AnswerWith(func() notifiertest.APNsAnswer { return notifiertest.APNsAnswer{Fault: fault} })
		result := send(t, a, order(device()))
		require.Equal(t, notifier.Retry, result.Status)
		require.Equal(t, notifier.ReasonUnreachable, result.Reason)
		require.False(t, result.Uncertain())
	}
}

// A GOAWAY while pushes are under way: those up to its stream are answered, and the others go
// to another connection, even if there may be only one.
func TestAGoAwayUnderLoad(t *testing.T) {
	t.Parallel()
	s := apple(t, time.Now, 100)
	a := open(t, s, apns.Config{Connections: 1})
	delivered(t, a, order(device()))
	s.Script(
		notifiertest.APNsAnswer{Delay: 200 * time.Millisecond}, notifiertest.APNsAnswer{Delay: 200 * time.Millisecond},
		notifiertest.APNsAnswer{Fault: notifiertest.APNsGoAway},
	)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { delivered(t, a, order(device())) })
	}
	all.Wait()
	require.Len(t, s.Pushes(), 101)
	require.Eventually(t, func() bool { _, open := s.Connections(); return open == 1 }, 5*time.Second, time.Millisecond)
	require.Zero(t, s.Excess())
}

// Apple says so when it closes a connection. The push goes to another one at once.
func TestAnswersThatCloseTheConnection(t *testing.T) {
	t.Parallel()
	for _, row := range []notifiertest.APNsAnswer{
		{Status: http.StatusBadRequest, Reason: "IdleTimeout"},
		{Status: http.StatusServiceUnavailable, Reason: "Shutdown"},
		{Status: http.StatusForbidden, Reason: "UnrelatedKeyIdInToken"},
	} {
		a, s := openBoth(t)
		delivered(t, a, order(device()))
		s.Script(row)
		delivered(t, a, order(device()))
		pushes := s.Pushes()
		require.Len(t, pushes, 2)
		require.Equal(t, 2, pushes[1].Conn, row.Reason)
		require.Eventually(t, func() bool { _, open := s.Connections(); return open == 1 }, 5*time.Second, time.Millisecond)

		s.AnswerWith(func() notifiertest.APNsAnswer { return row })
		result := send(t, a, order(device()))
		made, _ := s.Connections()
		if row.Status == http.StatusForbidden {
			require.Equal(t, notifier.Refused, result.Status)
			require.Equal(t, 3, made, "a new connection once")
		} else {
			require.Equal(t, notifier.Retry, result.Status)
			require.False(t, result.Uncertain())
			require.Equal(t, 5, made, "a few times")
		}
	}
}

// A connection that dies without a word is found by a ping, before the push is given up.
func TestADeadConnectionIsFound(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	a.PingAfter(50*time.Millisecond, 100*time.Millisecond)
	delivered(t, a, order(device()))
	s.Script(notifiertest.APNsAnswer{Fault: notifiertest.APNsSilence})
	began := time.Now()
	result := send(t, a, order(device()))
	require.Equal(t, notifier.ReasonNetwork, result.Reason, "%v", result.Err)
	require.Less(t, time.Since(began), apns.DefaultTimeout/2)
	delivered(t, a, order(device()))
	require.Equal(t, 2, s.Pushes()[2].Conn)
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	s.Close()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			result := send(t, a, order(device()))
			require.Equal(t, notifier.ReasonUnreachable, result.Reason)
		})
	}
	all.Wait()
}

func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	delivered(t, a, order(device()))
	s.Script(notifiertest.APNsAnswer{Delay: 100 * time.Millisecond})
	last := make(chan notifier.Result, 1)
	go func() { last <- a.Notify(t.Context(), order(device())) }()
	require.Eventually(t, func() bool { return s.Scripted() == 0 }, 5*time.Second, time.Millisecond)
	require.NoError(t, a.Close())
	require.Equal(t, notifier.Delivered, (<-last).Status, "those under way are answered")
	require.Eventually(t, func() bool { _, open := s.Connections(); return open == 0 }, 5*time.Second, time.Millisecond)
	result := send(t, a, order(device()))
	require.Equal(t, notifier.ReasonUnreachable, result.Reason)
}

func TestProbe(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	require.Equal(t, notifier.Result{Status: notifier.Delivered}, a.Probe(t.Context()))
	s.Script(notifiertest.APNsAnswer{}) // of a push that is not sound
	late := open(t, s, apns.Config{Now: func() time.Time { return time.Now().Add(-2 * time.Hour) }})
	require.Equal(t, notifier.SlowDown, late.Probe(t.Context()).Status)
	require.Empty(t, s.Pushes())
	s.Close()
	require.Equal(t, notifier.Retry, a.Probe(t.Context()).Status)
}
