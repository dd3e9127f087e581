package messages_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// tellLost tells of three late messages that were placed at 11:00, 11:01 and 11:02. The
// first one is sent. The queue loses the task of the second one. The third one is of a
// category.
func tellLost(t *testing.T, category string) *story.Messages {
	t.Helper()
	s := story.TellMessages(t, sendlimit.Options{
		Rules: story.RulesBy(t, addCategory(t, story.PolicyOf(t, "1/minute"), "marketing", "2/hour")),
	})
	submitCategory(s, "", "a", "10:00")
	submitCategory(s, "", "b", "10:10")
	submitCategory(s, category, "c", "10:20")
	s.Until("11:00")
	requirePlaced(s, deliver(s, "a"), "b 10:10:00 11:01:00", "c 10:20:00 11:02:00")
	return s
}

// A younger late message waits for an older one whose task is lost, although it is on time
// at its own place. Then the older one gets another task, and goes first.
func TestALateMessageWaitsForAnOlderOneWhoseTaskIsLost(t *testing.T) {
	t.Parallel()
	s := tellLost(t, "")
	s.Until("11:02")
	requireBusy(s, "c")
	s.Until("11:02:30")
	requirePostponed(s, s.Claim("c", s.Field("c", "g"), keyspace.NewToken()),
		"b 11:01:00 11:02:30", "c 11:02:00 11:03:30")
	deliver(s, "b")
	s.Until("11:03:30")
	deliver(s, "c")
}

// An older message is judged while a younger one, on time at its later place, waits for it:
// the younger one is placed again behind it.
func TestALateMessageGoesBeforeAYoungerOneThatWaitsAtItsPlace(t *testing.T) {
	t.Parallel()
	s := tellLost(t, "")
	s.Until("11:02")
	requireBusy(s, "c")
	s.Until("11:02:01")
	b := s.Claim("b", s.Field("b", "g"), keyspace.NewToken())
	require.Equal(s, messages.Send, b.Verdict)
	requirePlaced(s, b, "c 11:02:00 11:03:01")
}

// A message that was given back unsent holds up younger ones as before its claim. It is looked at
// soon by the clock of its worker: the store's may be ahead for a moment.
func TestALateMessageWaitsForAnOlderOneThatWasGivenBack(t *testing.T) {
	t.Parallel()
	s := tellLost(t, "")
	s.Until("11:01")
	nonce := keyspace.NewToken()
	require.Equal(s, messages.Send, s.Claim("b", s.Field("b", "g"), nonce).Verdict)
	s.Until("11:01:05")
	waiting := story.KeysOf(s.Options).Waiting("alice")
	s.Server.SetTTL(waiting, time.Hour)
	require.True(s, s.Settle("b", s.Field("b", "g"), nonce, messages.Settlement{
		Outcome: messages.Retried, Reason: messages.ReasonLate, Retry: messages.Retry{Generation: "again", Unsent: true, At: story.At("10:50")},
	}))
	first := s.Client.ZRangeWithScores(s.Context(), story.KeysOf(s.Options).Near("alice"), 0, 0).Val()
	require.InDelta(s, story.At("10:50").UnixMilli(), first[0].Score, float64(time.Minute.Milliseconds()))
	require.Equal(s, story.At("10:10").Add(sendlimit.DefaultExpireAfter), s.Now.Add(s.Server.TTL(waiting)), "as long as it may wait")
	s.Until("11:02")
	requireBusy(s, "c")
	deliver(s, "b")
}

// What is known of late messages that wait lasts until an expiry that is changed, whether with
// a move to where the message is or without.
func TestALateMessageWaitsUntilItsChangedExpiry(t *testing.T) {
	t.Parallel()
	for how, change := range map[string]func(s *story.Messages, e sendlimit.Edit) (sendlimit.Decision, error){
		"edit": func(s *story.Messages, e sendlimit.Edit) (sendlimit.Decision, error) {
			return s.Timeline.Edit(s.Context(), sendlimit.EditRequest{User: "alice", ID: "c", Edit: e, Now: s.Now})
		},
		"move": func(s *story.Messages, e sendlimit.Edit) (sendlimit.Decision, error) {
			return s.Timeline.Move(s.Context(), sendlimit.MoveRequest{
				User: "alice", ID: "c", At: story.At("11:02"), Generation: "g2", Edit: &e, Now: s.Now,
			})
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := tellLost(t, "")
			_, version, err := story.RecordsIn(s, s.Client, s.Options.Prefix).Versioned(s.Context(), "alice", "c")
			require.NoError(s, err)
			expires := story.At("11:02").Add(2 * sendlimit.DefaultExpireAfter)
			d, err := change(s, sendlimit.Edit{Of: version, What: []string{sendlimit.EditExpiresAt}, ExpiresAt: expires})
			require.NoError(s, err)
			require.True(s, d.Allowed, "%+v", d)
			require.Equal(s, story.At("11:02"), d.At)
			require.Equal(s, strconv.FormatInt(story.At("10:20").UnixMilli(), 10), s.Field("c", "p"), "it is still late")
			keys := story.KeysOf(s.Options)
			for _, key := range []string{keys.Timeline("alice"), keys.Waiting("alice")} {
				require.Equal(s, expires, s.Now.Add(s.Server.TTL(key)), key)
			}
		})
	}
}

// A late message waits at its place only for what will be sent.
func TestALateMessageDoesNotWaitAtItsPlace(t *testing.T) {
	t.Parallel()
	for why, happens := range map[string]func(s *story.Messages){
		"the older one was sent": func(s *story.Messages) {
			s.Until("11:01")
			deliver(s, "b")
		},
		"the older one was cancelled": func(s *story.Messages) {
			s.Release("b")
		},
		"the older one was moved": func(s *story.Messages) { require.True(s, s.MoveTo("b", "11:05", "moved").Allowed) },
		"the older one failed, and waits for its retry": func(s *story.Messages) {
			s.Until("11:01")
			nonce := keyspace.NewToken()
			require.Equal(s, messages.Send, s.Claim("b", s.Field("b", "g"), nonce).Verdict)
			require.True(s, s.Settle("b", s.Field("b", "g"), nonce, messages.Settlement{
				Outcome: messages.Retried, Reason: "busy", Retry: messages.Retry{Generation: "again", At: s.Now.Add(time.Minute)},
			}))
		},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			s := tellLost(t, "")
			happens(s)
			s.Until("11:02")
			require.Equal(s, story.At("11:02"), deliver(s, "c").SendAt)
			waiting, err := s.Client.ZRange(s.Context(), story.KeysOf(s.Options).Waiting("alice"), 0, -1).Result()
			require.NoError(s, err)
			require.NotContains(s, waiting, "c", "it waits no more")
		})
	}
}

// A late message waits at its place for no older one of another class.
func TestALateMessageDoesNotWaitForAnotherClass(t *testing.T) {
	t.Parallel()
	s := tellLost(t, "marketing")
	s.Until("11:02")
	require.Equal(s, story.At("11:02"), deliver(s, "c").SendAt)
}

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
			s.Holds("doubt 11:10:00", "older "+c.gets, "later 11:30:00")
			require.Equal(t, messages.Dropped, s.Claim("doubt", "d2", "n3").Verdict)
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
	s.Holds("doubt 11:10:00", "later 12:30:00", "older 13:00:00")
	require.Equal(t, messages.Send, s.Claim("doubt", "d2", "n3").Verdict, "no other one is in that hour")
	s.Holds("doubt 11:12:00", "later 12:30:00", "older 13:00:00")
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
