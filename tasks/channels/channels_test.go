package channels_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/channels"
)

func TestAStoppedChannelIsProbedAndResumed(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	at := time.Date(2051, time.July, 12, 11, 11, 11, 0, time.UTC)
	server.SetTime(at)
	s := channels.NewStore(client, keyspace.KeysUnder(""))
	state := func() channels.State {
		all, err := s.Load(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, "fcm", all[0].Name)
		return all[0]
	}
	yes := func(want, got bool, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	take := func() (bool, error) { return s.TakeProbe(t.Context(), "fcm", 5*time.Second, time.Minute) }

	all, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	taken, err := take()
	yes(false, taken, err)

	stopped, err := s.Stop(t.Context(), "fcm", channels.Stop{Reason: channels.Unauthorized, Detail: strings.Repeat("ü", 400), Identity: "p1"})
	yes(true, stopped, err)
	stopped, err = s.Stop(t.Context(), "fcm", channels.Stop{Reason: channels.Brake})
	yes(false, stopped, err)
	known := state()
	require.True(t, known.Stopped)
	require.Equal(t, channels.Unauthorized, known.Reason)
	require.Equal(t, strings.Repeat("ü", 250), known.Detail)
	require.Equal(t, "p1", known.Identity)
	require.Equal(t, at, known.Since)

	taken, err = take()
	yes(false, taken, err) // the first comes a while after the stop
	server.SetTime(at.Add(5 * time.Second))
	taken, err = take()
	yes(true, taken, err)
	taken, err = take()
	yes(false, taken, err)
	require.Equal(t, at.Add(65*time.Second), state().ProbeAt)
	server.SetTime(at.Add(-time.Hour)) // the clock was ahead: nobody waits for it
	taken, err = take()
	yes(true, taken, err)

	earlier := known
	earlier.Since = at.Add(-time.Millisecond)
	was, err := s.ResumeProbed(t.Context(), earlier)
	yes(false, was, err)
	was, err = s.ResumeProbed(t.Context(), known)
	yes(true, was, err)
	was, err = s.Resume(t.Context(), "fcm")
	yes(false, was, err)

	require.NoError(t, s.Accept(t.Context(), "fcm", "p1", at))
	require.True(t, state().Proved("p1"))
	require.False(t, state().Proved("p2"))
	require.False(t, state().Proved(""))
	require.False(t, state().Stopped)

	_, err = s.Stop(t.Context(), "no channel", channels.Stop{Reason: channels.Brake})
	var wrong *fault.InvalidError
	require.ErrorAs(t, err, &wrong)
}

// A stop of all sending is none of a channel. The first one stays, until sending is started.
func TestAllSendingIsStoppedOnce(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	at := time.Date(2051, time.July, 12, 11, 11, 11, 0, time.UTC)
	server.SetTime(at)
	s := channels.NewStore(client, keyspace.KeysUnder(""))
	for _, reason := range []string{"", " ", strings.Repeat("x", channels.MaxSendingReason+1), "two\nlines", "\xff"} {
		_, _, err := s.StopSending(t.Context(), channels.SendingStop{Reason: reason})
		var wrong *fault.InvalidError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, "reason", wrong.Field)
	}
	stop, err := s.Sending(t.Context())
	require.NoError(t, err)
	require.Nil(t, stop)
	first := channels.SendingStop{Reason: strings.Repeat("x", channels.MaxSendingReason), By: "ops", Since: at}
	for _, tried := range []channels.SendingStop{{Reason: " " + first.Reason, By: "ops"}, {Reason: "another"}} {
		now, stopped, err := s.StopSending(t.Context(), tried)
		require.NoError(t, err)
		require.Equal(t, tried.By == "ops", stopped)
		require.Equal(t, first, now)
		server.SetTime(at.Add(time.Minute))
	}
	all, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, client.HSet(t.Context(), "sl:stopped", " stopped", "?").Err())
	stop, err = s.Sending(t.Context())
	require.NoError(t, err)
	require.NotNil(t, stop, "as a newer program wrote it")
	for _, was := range []bool{true, false} {
		started, err := s.StartSending(t.Context())
		require.NoError(t, err)
		require.Equal(t, was, started)
	}
}

// A stop that can't be read, as a newer program wrote it, is a stop.
func TestAnUnreadableStopStops(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := channels.NewStore(client, keyspace.KeysUnder(""))
	require.NoError(t, client.HSet(t.Context(), "sl:stopped", "acme/spring", "1", "apns stopped", "?", "apns later", "1", "log accepted", "1 ").Err())
	all, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.True(t, all[0].Stopped)
	require.Equal(t, channels.Unauthorized, all[0].Reason)
	require.True(t, all[1].Proved(""))
}
