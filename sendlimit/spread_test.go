package sendlimit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A delay after quiet hours never costs a message its only free time.
func TestASpreadShiftTakesAFreeTimeIfThereIsOne(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	p, err := policy.Parse("default", "", "1/hour")
	require.NoError(t, err)
	p.QuietHours, err = policy.ParseQuietHours("22:00-08:00")
	require.NoError(t, err)
	p.ShiftSpread = time.Hour
	rules, err := sendlimit.NewRules(p)
	require.NoError(t, err)
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Rules: rules})
	require.NoError(t, err)
	now := time.Date(2051, 6, 1, 20, 0, 0, 0, time.UTC)
	eight := now.Add(12 * time.Hour)
	first := 0 // how many took the first moment
	for i := range 30 {
		user := "user-" + strconv.Itoa(i)
		d, err := timeline.Reserve(t.Context(), sendlimit.Request{User: user, ID: "other", At: eight.Add(90 * time.Minute), Now: now})
		require.NoError(t, err)
		require.True(t, d.Allowed)
		d, err = timeline.Reserve(t.Context(), sendlimit.Request{
			User: user, ID: "m", At: now.Add(3 * time.Hour), Shift: true, ShiftUntil: eight.Add(time.Hour - time.Millisecond), Now: now,
		})
		require.NoError(t, err)
		require.True(t, d.Allowed && d.Shifted, "%+v", d)
		require.False(t, d.At.Before(eight) || d.At.After(eight.Add(30*time.Minute)), "the other message leaves no later time: %v", d.At)
		if d.At.Equal(eight) {
			first++
		}
	}
	require.Positive(t, first, "those whose delay is longer than half an hour")
	require.Less(t, first, 30, "the others wait for their delay")
}
