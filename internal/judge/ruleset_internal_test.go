package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// A timeline and its gate take turns with a user whose rules are made once.
func TestTheSpanOfACategory(t *testing.T) {
	t.Parallel()
	const at = int64(1_795_000_000_000)
	weekly := policyNamed(t, "weekly", "", "2/7d")
	weekly.Categories = map[string]policy.CategoryRules{
		"otp": {Exempt: true}, "probe": {Exempt: true, Uncounted: true},
		"digest": {Rules: []policy.Rule{{Limit: 1, Window: 30 * calendar.DayLong}}},
	}
	daily := weekly
	daily.Rules = []policy.Rule{{Limit: 10, Window: calendar.DayLong}}
	silent := daily
	silent.AlertAt = []int{}
	for _, row := range []struct {
		policy   policy.Policy
		category string
		around   time.Duration // how far it looks to each side; 0 for the day of UTC only
	}{
		{weekly, "", 7 * calendar.DayLong},
		{weekly, "digest", 30 * calendar.DayLong},
		{weekly, "otp", 0},
		{weekly, "probe", 0},
		{daily, "otp", calendar.DayLong},
		{daily, "probe", 0},
		{silent, "otp", 0},
	} {
		set, err := newRuleset(row.policy, policy.UserSettings{}, new(calendar.ZoneTables))
		require.NoError(t, err)
		first, last := set.Scope(row.category).Span(at)
		wantFirst, next := calendar.NaturalPeriod(calendar.Day, at)
		wantLast := next - 1
		if row.around > 0 {
			wantFirst, wantLast = at-row.around.Milliseconds()+1, at+row.around.Milliseconds()-1
		}
		require.Equal(t, []int64{wantFirst, wantLast}, []int64{first, last}, "%s of %s", row.category, row.policy)
	}
}

// Whether a time is quiet is known without the cache that all policies share.
func TestQuietHoursAreLookedUpOnceAYear(t *testing.T) {
	t.Parallel()
	p := policyNamed(t, "sleeping", "Europe/Berlin", "1/minute")
	var err error
	p.QuietHours, err = policy.ParseQuietHours("22:00-08:00")
	require.NoError(t, err)
	set, err := newRuleset(p, policy.UserSettings{}, new(calendar.ZoneTables))
	require.NoError(t, err)
	night := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	noon := night.Add(13 * time.Hour)
	judge := set.Scope("")
	require.True(t, judge.QuietAt(night.UnixMilli()))
	set.zones = nil // nobody needs it any more
	require.True(t, judge.QuietAt(night.UnixMilli()))
	require.False(t, judge.QuietAt(noon.UnixMilli()))
	require.Equal(t, "Europe/Berlin", judge.QuietPeriod(night).Location.String())
	require.Nil(t, judge.QuietPeriod(noon))
}
