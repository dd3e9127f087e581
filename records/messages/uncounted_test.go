package messages_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// submitCategory submits a message of a category and requires that it is
// accepted. Its generation is "g-id".
func submitCategory(s *story.Messages, category, id, when string) {
	s.Helper()
	d := s.Ask(sendlimit.Request{ID: id, At: story.At(when), Record: story.Categorized("g-"+id, category)})
	require.True(s, d.Allowed, "%s: %+v", id, d)
}

// A place that does not count and outlasts its record is not listed, even if
// another message has its id.
func TestTheListPassesOverWhatIsLeftBesideTheTimeline(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.WithCodes(t, "5/minute"))})
	uncounted := story.KeysOf(s.Options).Uncounted("alice")
	for _, id := range []string{"real", "moved", "anew"} {
		submitCategory(s, "code", id, "11:00")
	}
	score := func(key, id, when string) {
		require.NoError(t, s.Client.ZAdd(t.Context(), key, redis.Z{Member: id, Score: float64(story.At(when).UnixMilli())}).Err())
	}
	record := func(id, field, value string) {
		s.Server.HSet(story.KeysOf(s.Options).Record("alice", id), field, value)
	}
	score(s.Key(), "moved", "12:00")
	record("moved", "t", ms("12:00"))
	s.Server.HDel(story.KeysOf(s.Options).Record("alice", "anew"), "z")
	score(s.Key(), "anew", "11:00")
	score(uncounted, "unknown", "11:00")
	s.Holds("anew 11:00:00", "real 11:00:00", "moved 12:00:00")
}

// One call reads at most a thousand records, of both lists together.
func TestTheListIsBounded(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.WithCodes(t, "1/minute")), PlacesPerDay: 2000})
	uncounted := story.KeysOf(s.Options).Uncounted("alice")
	left := make([]redis.Z, 1500)
	for i := range left {
		left[i] = redis.Z{Member: fmt.Sprintf("x%04d", i), Score: float64(story.At("10:00").Add(time.Duration(i) * time.Second).UnixMilli())}
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), uncounted, left...).Err())
	submitCategory(s, "code", "c", "12:00")
	submitCategory(s, "", "a", "11:00")
	s.Holds("a 11:00:00", "c 12:00:00")

	reply, err := lua.List.Run(t.Context(), s.Client, []string{s.Key(), uncounted}, "", "", "", "", "", 10, 1000,
		story.KeysOf(s.Options).RecordPrefix("alice")).Slice()
	require.NoError(t, err)
	require.Equal(t, []any{s.Now.UnixMilli(), story.At("10:16:39").UnixMilli(), "x0999"}, reply)
}

// Places that do not count are forgotten like those that do, and are kept as
// long as their messages are pending.
func TestPlacesThatDoNotCountExpire(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.WithCodes(t, "1/hour"))})
	key := story.KeysOf(s.Options).Uncounted("alice")
	r := sendlimit.Request{ID: "c", At: story.At("11:00"), Record: story.Categorized("g-c", "code")}
	r.Record.ExpiresAt = story.At("23 15:00")
	require.True(t, s.Ask(r).Allowed)
	require.Equal(t, story.At("23 15:00").UnixMilli(), s.Client.PExpireTime(t.Context(), key).Val().Milliseconds())
	s.Until("23 14:00")
	deliver(s, "c")
	require.GreaterOrEqual(t, s.Client.PExpireTime(t.Context(), key).Val().Milliseconds(), story.At("23 15:00:05").UnixMilli())
	require.Equal(t, strconv.FormatInt(story.At("11:00").UnixMilli(), 10), s.Field("c", "p"))
}

// Late messages with the same send time go in the order of their ids, also if the
// place of the claimed one is beside the timeline.
func TestALateMessageThatDidNotCountKeepsItsTurn(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.WithCodes(t, "1/hour"))})
	submitCategory(s, "code", "c1", "11:00")
	submitCategory(s, "", "c10", "11:00")
	submitCategory(s, "code", "d", "11:00")
	s.Until("11:30")
	usePolicy(s, story.PolicyOf(t, "1/hour")) // in which codes count

	requireBusy(s, "d") // c10 goes first
	requirePlaced(s, deliver(s, "c1"), "c10 11:00:00 12:30:00")
}
