package sendlimit_test

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
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
		withoutTimes, held := rapid.Bool().Draw(rt, "without free times"), rapid.Bool().Draw(rt, "held")
		requests := make([]sendlimit.Request, sendlimit.MaxReserveMany)
		for i := range requests {
			at = at.Add(time.Duration(rapid.IntRange(-20, 30).Draw(rt, "steps")) * step / 4)
			id := fmt.Sprint("n", i)
			requests[i] = sendlimit.Request{
				User: "alice", ID: id, At: at, Now: now, Record: story.RecordOf("g"+id, "text"), WithoutFreeTimes: withoutTimes,
			}
			if held {
				requests[i].Hold = &sendlimit.Hold{Account: "acme", Attempt: "h" + id, NotAfter: now.Add(time.Minute)}
			}
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

// However many places there are in a window, an answer reads few of them. It took
// 90 ms of the server's time for those of another category, on an idle machine.
func TestManyPlacesInAWindowAreNotRead(t *testing.T) {
	t.Parallel()
	client := redistest.Real(t).Client()
	const others, most = 26_500, 20_000 // µs
	base := time.Now().Add(time.Hour).Truncate(time.Second)
	keys := story.KeysOf(sendlimit.Options{})
	places := make([]redis.Z, others)
	for i := range places {
		places[i] = redis.Z{Score: float64(base.Add(time.Duration(i) * time.Minute).UnixMilli()), Member: fmt.Sprint("m", i)}
	}
	for part := range slices.Chunk(places, 1000) {
		require.NoError(t, client.ZAdd(t.Context(), keys.Timeline("alice"), part...).Err())
		require.NoError(t, client.ZAdd(t.Context(), keys.Category("alice", "news"), part...).Err())
	}
	for _, row := range []struct {
		overall, own, category string
		allowed                bool
	}{
		{"10/minute", "5/365d", "marketing", true},
		{"10/minute", "5/calendar_month", "marketing", true},
		{"10/minute", "5/365d", "news", false},
		{"10/minute", "5/calendar_month", "news", false},
		{"1000/365d", "1/day", "", false}, // came under other rules
		{"1000/calendar_month", "1/day", "", false},
	} {
		p := story.PolicyOf(t, row.overall)
		rule, err := policy.ParseRule(row.own)
		require.NoError(t, err)
		p.Categories = map[string]policy.CategoryRules{"marketing": {Rules: []policy.Rule{rule}}, "news": {Rules: []policy.Rule{rule}}}
		timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Records: true, Rules: story.RulesBy(t, p), PlacesPerDay: policy.MaxPlacesPerDay})
		require.NoError(t, err)
		fastest := math.MaxInt
		for range 10 { // the machine may be busy
			require.NoError(t, client.ConfigResetStat(t.Context()).Err())
			d, err := timeline.Check(t.Context(), sendlimit.Request{
				User: "alice", ID: "checked", At: base.Add(others / 2 * time.Minute), Category: row.category, Record: story.RecordOf("g", "checked"),
			})
			require.NoError(t, err)
			require.Equal(t, row.allowed, d.Allowed, "%+v", row)
			fastest = min(fastest, scriptMicros(t, client))
		}
		require.Less(t, fastest, most, "%+v", row)
	}
}

// scriptMicros returns how long a server ran scripts since its statistics were reset, µs.
func scriptMicros(t *testing.T, client *redis.Client) (micros int) {
	t.Helper()
	info, err := client.InfoMap(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	for _, command := range []string{"cmdstat_evalsha", "cmdstat_eval"} {
		if stats, ok := info["Commandstats"][command]; ok {
			var calls, usec int
			_, err = fmt.Sscanf(stats, "calls=%d,usec=%d,", &calls, &usec)
			require.NoError(t, err)
			micros += usec
		}
	}
	return micros
}
