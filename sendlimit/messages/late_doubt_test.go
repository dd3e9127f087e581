package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// A message may have arrived at 11:10, and is to be tried again. It expires before it gets
// another time, so it is not sent again and keeps its place. An older late message, which is
// judged first, gets no time too near to that place.
func TestALateMessageKeepsAwayFromWhatMayHaveArrived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ expires, now, gets string }{
		"no free time": {"11:16", "11:12", "11:20:00"},
		"expired":      {"11:11", "11:12", "11:20:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := story.NewMessages(t, "1/10m")
			mayHaveArrived(s, "11:00", c.expires, "11:30")
			s.Until(c.now)
			claim := s.Claim("older", "o1", "n2")
			require.Equal(t, messages.Postponed, claim.Verdict)
			require.Equal(t, messages.StateUncertain, s.Look("doubt").State)
			s.Holds("doubt 11:10:00", "older "+c.gets, "later 11:30:00")
		})
	}
}

// The same in natural hours: the older one was judged before the place counted, when the hour
// had room.
func TestALateMessageKeepsOutOfAnHourWhereAnotherMayHaveArrived(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/calendar_hour")
	mayHaveArrived(s, "10:50", "11:16", "12:30")
	s.Until("11:12")
	require.Equal(t, messages.Postponed, s.Claim("older", "o1", "n2").Verdict)
	require.Equal(t, messages.StateUncertain, s.Look("doubt").State)
	s.Holds("doubt 11:10:00", "later 12:30:00", "older 13:00:00")
}

// mayHaveArrived has a message "doubt" of 11:10 that may have arrived then and expires at a
// time, and messages "older" and "later" beside it.
func mayHaveArrived(s *story.Messages, older, expires, later string) {
	s.Helper()
	require.True(s, s.Submit("older", older, "o1", "text").Allowed)
	r := sendlimit.Request{ID: "doubt", At: story.At("11:10"), Record: story.RecordOf("d1", "text")}
	r.Record.ExpiresAt = story.At(expires)
	require.True(s, s.Ask(r).Allowed)
	require.True(s, s.Submit("later", later, "l1", "text").Allowed)

	s.Until("11:10")
	require.Equal(s, messages.Send, s.Claim("doubt", "d1", "n1").Verdict)
	require.True(s, s.Settle("doubt", "d1", "n1", messages.Settlement{
		Outcome: messages.Retried, Retry: messages.Retry{Generation: "d2", At: story.At("11:10:30"), Uncertain: true}, Reason: "timeout",
	}))
}
