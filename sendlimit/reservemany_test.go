package sendlimit_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Places taken in one call are judged as if each had its own call, also where a user has more
// of them than a call reads.
func TestManyTogetherAreJudgedAsOneByOne(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var pairs, judged atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		pair := pairs.Add(1)
		now := time.Date(2051, 10, 28, 9, 0, 0, 0, time.UTC)
		rules := rapid.SampledFrom([][]string{
			{"40/hour"}, {"60/hour", "200/day"}, {"25/10m", "50/calendar_hour"}, {"5/10m"}, {"150/calendar_day", "20/5m"},
		}).Draw(rt, "rules")
		o := sendlimit.Options{Records: true, Rules: story.RulesBy(t, story.PolicyOf(t, rules...))}
		var timelines [2]*sendlimit.Timeline
		step := rapid.SampledFrom([]time.Duration{20 * time.Second, time.Minute, 3 * time.Minute}).Draw(rt, "step")
		places := rapid.IntRange(0, 150).Draw(rt, "places")
		for i := range timelines {
			o.Prefix = fmt.Sprintf("many%d-%d", pair, i)
			var err error
			timelines[i], err = sendlimit.NewTimeline(client, o)
			require.NoError(rt, err)
			members := make([]redis.Z, places)
			for n := range members {
				members[n] = redis.Z{Score: float64(now.Add(time.Hour + time.Duration(n)*step).UnixMilli()), Member: fmt.Sprint("m", n)}
			}
			if places > 0 {
				require.NoError(rt, client.ZAdd(rt.Context(), story.KeysOf(o).Timeline("alice"), members...).Err())
			}
		}
		at := now.Add(time.Duration(rapid.IntRange(30, 300).Draw(rt, "minute")) * time.Minute)
		requests := make([]sendlimit.Request, sendlimit.MaxReserveMany)
		for i := range requests {
			at = at.Add(time.Duration(rapid.IntRange(-20, 30).Draw(rt, "steps")) * step / 4)
			id := fmt.Sprint("n", i)
			requests[i] = sendlimit.Request{User: "alice", ID: id, At: at, Now: now, Record: story.RecordOf("g"+id, "text")}
		}
		together, err := timelines[0].ReserveMany(rt.Context(), requests)
		require.NoError(rt, err)
		judged.Add(int64(len(together))) // none where an alert may be due
		for i, d := range together {
			alone, err := timelines[1].Reserve(rt.Context(), requests[i])
			require.NoError(rt, err)
			require.Equal(rt, alone, d, "%d: %+v", i, requests[i])
		}
	})
	require.Greater(t, judged.Load(), 4*pairs.Load())
}

// It stops before the first request that needs more than rules, and returns nothing about the rest.
func TestManyTogetherStopBeforeWhatNeedsMore(t *testing.T) {
	t.Parallel()
	at := func(id, when string, change func(*sendlimit.Request)) sendlimit.Request {
		r := sendlimit.Request{User: "alice", ID: id, At: story.At(when), Record: story.RecordOf("g"+id, "text")}
		if change != nil {
			change(&r)
		}
		return r
	}
	for what, second := range map[string]sendlimit.Request{
		"a shift":          at("b", "12:00", func(r *sendlimit.Request) { r.Shift = true }),
		"another user":     at("b", "12:00", func(r *sendlimit.Request) { r.User = "bob" }),
		"another category": at("b", "12:00", func(r *sendlimit.Request) { r.Category = "news" }),
		"the same id":      at("a", "12:00", nil),
		"now":              at("b", "12:00", func(r *sendlimit.Request) { r.At = time.Time{} }),
		"a past time":      at("b", "00:00", func(r *sendlimit.Request) { r.At = r.At.Add(-time.Second) }),
	} {
		s := story.NewMessages(t, "1/minute")
		for i := range 2 {
			s.Submit("known", "14:00", "g0", "text")
			requests := []sendlimit.Request{at("a", "11:00", nil), second, at("c", "13:00", nil)}
			for k := range requests {
				requests[k].Now = s.Now
			}
			decisions, err := s.Timeline.ReserveMany(t.Context(), requests)
			require.NoError(t, err, what)
			require.Len(t, decisions, 1-i, "%s: the second time the first one is known", what)
		}
		s.Holds("a 11:00:00", "known 14:00:00")
	}
	s := story.NewMessages(t, "1/minute")
	_, err := s.Timeline.ReserveMany(t.Context(), make([]sendlimit.Request, sendlimit.MaxReserveMany+1))
	invalid := &fault.InvalidError{}
	require.ErrorAs(t, err, &invalid)
}
