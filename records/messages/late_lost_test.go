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
