package sendlimit_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// What lua/fragments/judge_near.lua answers by itself equals the model's answer: plain
// policies, no shift, few places. Other random histories seldom have all of that.
func TestFewNeighboursAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var timelines atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlainPolicy(t)
		rules, err := sendlimit.NewRules(p)
		require.NoError(t, err)
		timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Rules: rules, Prefix: fmt.Sprintf("n%d", timelines.Add(1))})
		require.NoError(t, err)
		model, err := sendlimittest.NewModel(p, policy.DefaultReach)
		require.NoError(t, err)
		now := time.Date(2051, 10, rapid.IntRange(24, 29).Draw(t, "day"), 5, 0, 0, 0, time.UTC)
		taken := []time.Time{now.Add(10 * time.Hour)}
		for n := range 15 {
			step := rapid.SampledFrom([]time.Duration{20 * time.Second, time.Minute, 20 * time.Minute, time.Hour, 6 * time.Hour}).Draw(t, "step")
			at := rapid.SampledFrom(taken).Draw(t, "near").Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "steps")) * step)
			at = at.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond)
			r := sendlimit.Request{User: "alice", ID: fmt.Sprintf("m%d", n), At: at, Now: now}
			r.WithoutFreeTimes = rapid.IntRange(0, 2).Draw(t, "free times") == 0
			got, err := timeline.Reserve(t.Context(), r)
			require.NoError(t, err)
			want := model.Reserve(r)
			want.Notices = got.Notices
			require.Equal(t, want, got, "%s: %+v", p, r)
			for _, free := range []time.Time{got.At, got.NextFree, got.PreviousFree} {
				if free.After(now) {
					taken = append(taken, free)
				}
			}
		}
	})
}

func drawPlainPolicy(t *rapid.T) policy.Policy {
	p := policy.Policy{Name: policy.DefaultName, TimeZone: rapid.SampledFrom([]string{"", "", "Europe/Berlin"}).Draw(t, "zone")}
	rules := []policy.Rule{
		{Window: time.Minute},
		{Window: 20 * time.Minute},
		{Window: time.Hour},
		{Window: calendar.DayLong},
		{Period: calendar.Minute},
		{Period: calendar.Hour},
		{Period: calendar.Day},
		{Period: calendar.Week},
	}
	some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(rules)-1), 2, 3, rapid.ID[int]).Draw(t, "rules")
	for _, k := range some {
		rules[k].Limit = rapid.IntRange(1, 1+k%4).Draw(t, "limit")
		p.Rules = append(p.Rules, rules[k])
	}
	return p
}
