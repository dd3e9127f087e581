package sendlimit_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// withCodes is a policy of which two categories are exempt: "otp" counts for the
// others, "code" does not.
func withCodes(t *testing.T, rules ...string) policy.Policy {
	t.Helper()
	p := policyOf(t, rules...)
	p.Categories = map[string]policy.CategoryRules{
		"otp":  {Exempt: true},
		"code": {Exempt: true, Uncounted: true},
	}
	return p
}

// categorized is recordOf with a category.
func categorized(generation, category string) *sendlimit.Record {
	r := recordOf(generation, "text")
	r.Category = category
	return r
}

// submitOf submits a message of a category, with the generation "g-id", and
// requires that it is accepted.
func (s *messageStory) submitOf(category, id, when string) {
	s.Helper()
	d := s.ask(sendlimit.Request{ID: id, At: at(when), Record: categorized("g-"+id, category)})
	require.True(s, d.Allowed, "%s: %+v", id, d)
}

// places requires which ids are in the timeline and which beside it, each with the
// time of day.
func (s *messageStory) places(timeline, uncounted []string) {
	s.Helper()
	for key, wanted := range map[string][]string{
		s.key(): timeline, keysOf(s.options).Uncounted("alice"): uncounted,
	} {
		entries, err := s.client.ZRangeWithScores(s.Context(), key, 0, -1).Result()
		require.NoError(s, err)
		var found []string
		for _, e := range entries {
			found = append(found, fmt.Sprint(e.Member)+" "+time.UnixMilli(int64(e.Score)).UTC().Format("15:04:05.999"))
		}
		require.Equal(s, wanted, found, key)
	}
}

func none() []string { return nil }

func TestWhatDoesNotCountIsReleased(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "1/hour")})
	s.submitOf("", "a", "11:00")
	s.submitOf("code", "c", "11:00")
	require.True(t, s.stands("c").Uncounted)
	require.False(t, s.stands("a").Uncounted)
	s.places([]string{"a 11:00:00"}, []string{"c 11:00:00"})

	require.True(t, s.release("c").Allowed)
	s.places([]string{"a 11:00:00"}, none())
	require.Equal(t, messages.StateCancelled, s.stands("c").State)
	s.watched("g-a/a 00:00:10")
	d := s.ask(sendlimit.Request{ID: "c", At: at("13:00"), Record: categorized("g2", "")})
	require.True(t, d.Allowed, "its id is free, for what counts too")
	require.False(t, s.stands("c").Uncounted)
	s.places([]string{"a 11:00:00", "c 13:00:00"}, none())
}

func TestWhatDoesNotCountIsDelivered(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "1/hour")})
	for _, id := range []string{"c1", "c2", "c3"} {
		s.submitOf("code", id, "11:00")
	}
	s.submitOf("", "a", "11:00")
	s.until("11:00")
	require.Equal(t, "code", s.goesOut("c1").Category)
	s.goesOut("a")
	s.holds("a 11:00:00", "c1 11:00:00", "c2 11:00:00", "c3 11:00:00")
	require.Equal(t, messages.Send, s.claim("c2", "g-c2", "n2").Verdict)
	require.True(t, s.settle("c2", "g-c2", "n2", messages.Settlement{Failed: true, Reason: "gone"}))
	require.Equal(t, messages.Send, s.claim("c3", "g-c3", "n3").Verdict)
	require.True(t, s.settle("c3", "g-c3", "n3", messages.Settlement{Uncertain: true, Reason: "unclear"}))
	s.places([]string{"a 11:00:00"}, []string{"c1 11:00:00", "c3 11:00:00"})
	ended, err := messages.RecordsOf(s.timeline, s.client).Ended(t.Context(), sendlimit.ListRequest{User: "alice"})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.Equal(t, "c2", ended[0].ID, "a failed one has no place")

	s.until("13:00") // forgotten by any rule
	s.holds()
	s.submitOf("code", "c4", "14:00")
	s.places([]string{"a 11:00:00"}, []string{"c4 14:00:00"})
}

// The list has both in the order of their times, then ids, in pages of any size.
func TestTheListHasWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "5/minute")})
	var want []string
	for n := range 60 {
		category, when := []string{"", "code"}[n*7%3%2], "11:"+fmt.Sprintf("%02d", n/3)
		id := fmt.Sprintf("m%02d", (n*37)%60)
		s.submitOf(category, id, when)
		want = append(want, when+" "+id)
	}
	slices.Sort(want)
	for _, size := range []int{1, 2, 7, 59, 60, 61} {
		var got []string
		var after keyspace.Reservation
		for {
			page, err := s.timeline.List(t.Context(), sendlimit.ListRequest{
				User: "alice", From: at("11:00"), To: at("11:59"), After: after, Limit: size,
			})
			require.NoError(t, err)
			for _, r := range page {
				got = append(got, r.At.Format("15:04")+" "+r.ID)
			}
			if len(page) < size {
				break
			}
			after = page[len(page)-1]
		}
		require.Equal(t, want, got, "pages of %d", size)
	}
	page, err := s.timeline.List(t.Context(), sendlimit.ListRequest{User: "alice", From: at("11:05"), To: at("11:06")})
	require.NoError(t, err)
	require.Len(t, page, 3)
}

// What a program that knew only the timeline has left beside it is not listed,
// and a message that it has given a place there is listed once.
func TestTheListPassesOverWhatIsLeftBesideTheTimeline(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "5/minute")})
	uncounted := keysOf(s.options).Uncounted("alice")
	for _, id := range []string{"real", "moved", "cancelled", "anew", "there-and-back", "twice"} {
		s.submitOf("code", id, "11:00")
	}
	score := func(key, id, when string) {
		require.NoError(t, s.client.ZAdd(t.Context(), key, redis.Z{Member: id, Score: float64(at(when).UnixMilli())}).Err())
	}
	record := func(id, field, value string) { s.server.HSet(keysOf(s.options).Record("alice", id), field, value) }
	score(s.key(), "moved", "12:00")
	record("moved", "t", ms("12:00"))
	record("cancelled", "s", "c")
	s.server.HDel(keysOf(s.options).Record("alice", "anew"), "z")
	score(s.key(), "anew", "11:00")
	score(s.key(), "twice", "11:00")
	score(uncounted, "unknown", "11:00")
	s.holds("anew 11:00:00", "real 11:00:00", "there-and-back 11:00:00", "twice 11:00:00", "moved 12:00:00")

	// Whatever takes the place away takes it away for good.
	for _, id := range []string{"moved", "twice"} {
		require.True(t, s.release(id).Allowed)
	}
	s.holds("anew 11:00:00", "real 11:00:00", "there-and-back 11:00:00")
	require.Error(t, s.client.ZScore(t.Context(), uncounted, "twice").Err())
}

// One call looks at a thousand records, whichever list they are of.
func TestTheListIsBounded(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "1/minute")})
	uncounted := keysOf(s.options).Uncounted("alice")
	left := make([]redis.Z, 1500)
	for i := range left {
		left[i] = redis.Z{Member: fmt.Sprintf("x%04d", i), Score: float64(at("10:00").Add(time.Duration(i) * time.Second).UnixMilli())}
	}
	require.NoError(t, s.client.ZAdd(t.Context(), uncounted, left...).Err())
	s.submitOf("code", "c", "12:00")
	s.submitOf("", "a", "11:00")
	s.holds("a 11:00:00", "c 12:00:00")

	reply, err := lua.List.Run(t.Context(), s.client, []string{s.key(), uncounted}, "", "", "", "", "", 10, 1000,
		keysOf(s.options).RecordPrefix("alice")).Slice()
	require.NoError(t, err)
	require.Equal(t, []any{s.now.UnixMilli(), at("10:16:39").UnixMilli(), "x0999"}, reply)
}

// An exempt message that is late goes out at once, whatever the rules say and
// whatever else is late.
func TestAnExemptMessageIsLate(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "1/hour")})
	s.submitOf("", "a", "10:00")
	s.submitOf("", "b", "11:00")
	s.submitOf("otp", "o", "11:00")
	s.submitOf("code", "c", "11:00")
	s.until("11:30")
	claim := s.goesOut("o")
	require.Empty(t, claim.Placed, "the others have tasks of their own")
	require.Equal(t, at("11:00"), claim.Promised)
	require.Equal(t, at("11:30"), claim.SendAt)
	require.Equal(t, at("11:00"), s.goesOut("c").Promised)
	s.places([]string{"a 10:00:00", "b 11:00:00", "o 11:30:00"}, []string{"c 11:30:00"})

	// It counts where it was really sent; the other does not.
	s.postponed(s.claim("a", "g-a", "n1"), "a 10:00:00 12:30:00", "b 11:00:00 13:30:00")
	require.Equal(t, policy.Rule{Limit: 1, Window: time.Hour}, s.stands("a").InTheWay)
}

func TestAnExemptMessageIsLateForItsExpiry(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "1/hour")})
	r := sendlimit.Request{ID: "c", At: at("11:00"), Record: categorized("g1", "code")}
	r.Record.ExpiresAt = at("11:05")
	require.True(t, s.ask(r).Allowed)
	s.until("11:05")
	require.Equal(t, messages.ReasonExpired, s.claim("c", "g1", "n1").Reason)
	s.places(none(), none())
}

// The policy of the moment says whether a late message counts.
func TestALateMessageUnderAChangedPolicy(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "1/hour")})
	s.submitOf("code", "c", "10:00")
	s.submitOf("news", "n", "10:00")
	s.submitOf("", "a", "11:00")
	s.until("11:30")

	p := policyOf(t, "1/hour")
	p.Categories = map[string]policy.CategoryRules{"news": {Exempt: true, Uncounted: true}}
	s.judgedBy(p)
	s.goesOut("n")
	s.places([]string{"a 11:00:00"}, []string{"c 10:00:00", "n 11:30:00"})
	require.True(t, s.stands("n").Uncounted)
	s.placed(s.goesOut("c"), "a 11:00:00 12:30:00") // which counts by now
	s.places([]string{"c 11:30:00", "a 12:30:00"}, []string{"n 11:30:00"})
	require.False(t, s.stands("c").Uncounted)
}

// What is not counted is forgotten with what is, and stays as long as it can be
// sent.
func TestPlacesThatDoNotCountExpire(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: withCodes(t, "1/hour")})
	key := keysOf(s.options).Uncounted("alice")
	r := sendlimit.Request{ID: "c", At: at("11:00"), Record: categorized("g-c", "code")}
	r.Record.ExpiresAt = at("23 15:00")
	require.True(t, s.ask(r).Allowed)
	require.Equal(t, at("23 15:00").UnixMilli(), s.client.PExpireTime(t.Context(), key).Val().Milliseconds())
	s.until("23 14:00")
	s.goesOut("c")
	require.GreaterOrEqual(t, s.client.PExpireTime(t.Context(), key).Val().Milliseconds(), at("23 15:00:05").UnixMilli())
	require.Equal(t, strconv.FormatInt(at("11:00").UnixMilli(), 10), s.field("c", "p"))
}
