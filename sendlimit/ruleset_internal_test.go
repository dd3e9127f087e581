package sendlimit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A timeline and its gate take turns with a user whose rules are made once.
func TestATimelineAndItsGateKnowUsersTogether(t *testing.T) {
	t.Parallel()
	timeline, err := NewTimeline(nil, Options{UserSettings: true, Attempts: 3})
	require.NoError(t, err)
	gate := timeline.Gate()
	require.NoError(t, timeline.book.learn("alice", map[string]string{"limits": "2/minute", "v": "v1"}))
	rules := timeline.book.of("alice").rules
	require.Same(t, rules, gate.book.of("alice").rules)
	require.Same(t, rules, timeline.book.of("alice").rules)
	require.Equal(t, 3, gate.fixed.Attempts)
	require.Equal(t, DefaultTolerance, gate.fixed.Tolerance)
}

// What no rule judges has nothing to look at around it, but for what alerts count.
func TestTheSpanOfACategory(t *testing.T) {
	t.Parallel()
	const at = int64(1_795_000_000_000)
	weekly := policyNamed(t, "weekly", "", "2/7d")
	weekly.Categories = map[string]CategoryRules{
		"otp": {Exempt: true}, "probe": {Exempt: true, Uncounted: true},
		"digest": {Rules: []Rule{{Limit: 1, Window: 30 * day}}},
	}
	daily := weekly
	daily.Rules = []Rule{{Limit: 10, Window: day}}
	silent := daily
	silent.AlertAt = []int{}
	for _, row := range []struct {
		policy   Policy
		category string
		around   time.Duration // how far it looks to each side
	}{
		{weekly, "", 7 * day},
		{weekly, "digest", 30 * day},
		{weekly, "otp", 0},
		{weekly, "probe", 0},
		{daily, "otp", day},
		{daily, "probe", 0},
		{silent, "otp", 0},
	} {
		set, err := newRuleset(row.policy, "", newZoneTables())
		require.NoError(t, err)
		first, last := set.scope(row.category).span(at)
		wantFirst, wantLast := at, at
		if row.around > 0 {
			wantFirst, wantLast = at-row.around.Milliseconds()+1, at+row.around.Milliseconds()-1
		}
		require.Equal(t, []int64{wantFirst, wantLast}, []int64{first, last}, "%s of %s", row.category, row.policy)
	}
}

// Whether a time is quiet is known without a look at what all policies share.
func TestQuietHoursAreLookedUpOnceAYear(t *testing.T) {
	t.Parallel()
	policy := policyNamed(t, "sleeping", "Europe/Berlin", "1/minute")
	var err error
	policy.QuietHours, err = ParseQuietHours("22:00-08:00")
	require.NoError(t, err)
	set, err := newRuleset(policy, policy.TimeZone, newZoneTables())
	require.NoError(t, err)
	night := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	noon := night.Add(13 * time.Hour)
	judge := set.scope("")
	require.True(t, judge.quietAt(night.UnixMilli()))
	set.zones = nil // nobody needs it any more
	require.True(t, judge.quietAt(night.UnixMilli()))
	require.False(t, judge.quietAt(noon.UnixMilli()))
	require.Equal(t, "Europe/Berlin", set.quietPeriod(night).Location.String())
	require.Nil(t, set.quietPeriod(noon))
}
