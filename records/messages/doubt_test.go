package messages_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// noAnswer claims a message of a category, and tells that no answer came: it may have arrived. It
// is tried again at a time, as generation "again".
func noAnswer(s *story.Messages, id, at string) {
	s.Helper()
	settle(s, id, messages.Settlement{
		Outcome: messages.Retried, Reason: "timeout", Retry: messages.Retry{Generation: "again", At: story.At(at), Uncertain: true},
	})
}

// The search for its next free time may take several calls. It waits until that at its place.
func TestWhatMayHaveArrivedWaitsForAFarTime(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute", "5/hour")
	s.Submit("doubt", "11:00", "d1", "text")
	s.Until("11:00")
	noAnswer(s, "doubt", "11:30")
	s.Until("12:00")
	const full = 8000 // places, 5 in every hour
	every := 11 * time.Minute
	places := make([]redis.Z, full)
	for i := range places {
		places[i] = redis.Z{Score: float64(s.Now.Add(time.Duration(i) * every).UnixMilli()), Member: fmt.Sprint("m", i)}
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), story.KeysOf(s.Options).Timeline("alice"), places...).Err())
	s.Options.ExpireAfter = 366 * 24 * time.Hour
	gate, err := messages.NewGate(s.Client, s.Options)
	require.NoError(t, err)
	claim, err := gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "doubt", Generation: "again", Nonce: "n2"}, time.Minute, s.Now)
	require.NoError(t, err)
	require.Equal(t, messages.Claim{Verdict: messages.Postponed, Now: s.Now}, claim)
	stands := s.Look("doubt")
	require.Equal(t, s.Now.Add((full-5)*every+time.Hour), stands.NotBefore)
	require.Equal(t, story.At("11:00"), stands.SendAt)
	require.Equal(t, "late 1 60000", s.Field("doubt", "w"))
}

// What may have arrived is cancelled as any other message. Its place counts until the rules forget
// it, also if another message gets the id.
func TestWhatMayHaveArrivedCountsAfterItsCancel(t *testing.T) {
	t.Parallel()
	for _, category := range []string{"", "news"} {
		s := story.TellMessages(t, sendlimit.Options{
			Rules: story.RulesBy(t, addCategory(t, story.PolicyOf(t, "5/day"), "news", "1/10m")),
		})
		if category == "" {
			s = story.NewMessages(t, "1/10m")
		}
		submitCategory(s, category, "doubt", "11:00")
		s.Until("11:00")
		noAnswer(s, "doubt", "11:05")
		s.Until("11:01")
		require.True(t, s.Release("doubt").Allowed)
		require.True(t, s.Release("doubt").Replayed)
		require.Equal(t, messages.StateCancelled, s.Look("doubt").State)
		require.Equal(t, messages.Stale, s.Claim("doubt", "again", "n2").Verdict, "it is not sent again")
		s.Watched()

		at := func(when string) sendlimit.Decision {
			return s.Ask(sendlimit.Request{ID: "doubt", At: story.At(when), Category: category, Record: story.Categorized(keyspace.NewToken(), category)})
		}
		require.Equal(t, fault.CodeSendLimit, at("11:09").Code)
		require.True(t, at("11:10").Allowed)
		lost := messages.NewLostPlaces(s.Client, keyspace.KeysUnder(""))
		_, err := lost.Free(t.Context(), func(_ context.Context, batch func() error) error { return batch() }, s.Now)
		require.NoError(t, err)
		refused := s.Ask(sendlimit.Request{ID: "near", At: story.At("11:05"), Category: category, Record: story.Categorized("g2", category)})
		require.Len(t, refused.Violations[0].Conflicts, 2, "the former place and the new one")
	}
}
