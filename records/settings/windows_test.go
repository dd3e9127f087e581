package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// A window that was in force is remembered for its own length, whether its policy was changed or
// deleted. A policy that looks back further says from when on it counts everything.
func TestFormerWindowsAreRemembered(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	apply := func(name, rule string) settings.PolicyChange {
		p := story.PolicyOf(t, rule)
		p.Name = name
		change, err := policies.Replace(t.Context(), p, settings.AnyVersion)
		require.NoError(t, err)
		return change
	}
	remembered := func(after time.Duration) time.Duration {
		changes, err := policies.Changed(t.Context(), 0)
		require.NoError(t, err)
		return settings.Former(changes.Windows, time.Now().Add(after))
	}
	require.Zero(t, apply("test", "3/day").ExactFrom, "nothing was accepted before")
	require.Zero(t, remembered(0))
	apply("test", "5/minute")
	require.Equal(t, calendar.DayLong+policy.Grace, remembered(0))
	require.Equal(t, calendar.DayLong+policy.Grace, remembered(calendar.DayLong))
	require.Zero(t, remembered(calendar.DayLong+time.Minute))
	require.Zero(t, apply("test", "3/day").ExactFrom, "the window was in force today")

	require.WithinDuration(t, time.Now().Add(2*calendar.DayLong), apply("other", "3/3d").ExactFrom, time.Minute)
	require.NoError(t, policies.Delete(t.Context(), "other", settings.AnyVersion))
	require.Equal(t, 3*calendar.DayLong+policy.Grace, remembered(0))
	require.Zero(t, apply("third", "3/3d").ExactFrom)
}
