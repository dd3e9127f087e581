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
