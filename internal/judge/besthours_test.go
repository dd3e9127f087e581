package judge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// Keys that are evenly apart are drawn into each part of a window in the ratio of its weights, which a
// plain program counts minute by minute. Around clock changes, hours are longer and shorter.
func TestTimesAreDrawnByTheWeightsOfHours(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone, err := calendar.ParseTimeZone(rapid.SampledFrom([]string{
			"UTC", "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Asia/Kolkata", "America/St_Johns",
		}).Draw(t, "zone"))
		require.NoError(t, err)
		best := judge.BestHours{Zone: zone, Weights: sendlimittest.DrawBestHours(t)}
		begin := rapid.SampledFrom([]time.Time{
			time.Date(2027, 3, 27, 20, 0, 0, 0, time.UTC), time.Date(2027, 10, 30, 20, 0, 0, 0, time.UTC),
			time.Date(2027, 4, 3, 10, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC),
		}).Draw(t, "around").Add(time.Duration(rapid.IntRange(-600, 600).Draw(t, "from")) * time.Minute)
		minutes := rapid.IntRange(1, 10*24*60).Draw(t, "minutes")

		weights, weighed := make([]float64, minutes), 0.0
		for i := range weights {
			weights[i] = 1
			if local := begin.Add(time.Duration(i) * time.Minute).In(zone); len(best.Weights) > 0 {
				weights[i] = float64(best.Weights[(int(local.Weekday())+6)%7*24+local.Hour()])
			}
			weighed += weights[i]
		}
		if weighed == 0 {
			for i := range weights {
				weights[i] = 1
			}
			weighed = float64(minutes)
		}
		const draws = 2000
		from, until := begin.UnixMilli(), begin.Add(time.Duration(minutes)*time.Minute).UnixMilli()
		drawn := make([]int, minutes)
		for i := range int64(draws) {
			key := i * (1 << 48 / draws)
			if weighed == float64(minutes) { // these are divided by the length of the window
				key = i * (until - from) / draws
			}
			at := best.Draw(from, until, key)
			require.True(t, from <= at && at < until, "%d is outside", at)
			require.Equal(t, at, best.Draw(from, until, key))
			minute := (at - from) / time.Minute.Milliseconds()
			require.NotZero(t, weights[minute], "minute %d", minute)
			drawn[minute]++
		}
		before, want := 0, 0.0
		for i := range weights {
			before, want = before+drawn[i], want+weights[i]/weighed*draws
			require.InDelta(t, want, before, 1.01, "until minute %d", i)
		}
	})
}
