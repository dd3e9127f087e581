package dashboard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// A week has a row a day by the clocks of the policy, and one of its own for each category with quiet
// times of its own.
func TestTheWeekOfAPolicy(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC) // Sunday in Berlin
	p := message.Policy{
		Rules: []string{"1/minute"}, TimeZone: "Europe/Berlin", QuietHours: []string{"22:00-08:00"}, Blackouts: []string{"2026-11-25"},
		Categories: map[string]policy.CategoryDocument{
			"news":  {Rules: []string{"1/hour"}, Only: []string{"mon 09:00-12:00"}, QuietHours: []string{}, Blackouts: []string{}},
			"codes": {Exempt: true}, "other": {Rules: []string{"1/hour"}},
		},
	}
	weeks, err := weeksOf(p, now)
	require.NoError(t, err)
	require.Len(t, weeks, 2)
	all, news := weeks[0], weeks[1]
	require.Empty(t, all.Category)
	require.Equal(t, "news", news.Category)
	require.Len(t, all.Days, 7)
	require.Equal(t, "Sun 22 Nov", all.Days[0].Label)
	require.Equal(t, "Sat 28 Nov", all.Days[6].Label)
	drawn := func(d weekDay) (spans [][2]float64) {
		for _, b := range d.Quiet {
			spans = append(spans, [2]float64{b.X, b.X + b.Width})
			require.InDelta(t, d.Y, b.Y, 0)
		}
		return spans
	}
	require.Equal(t, [][2]float64{{110, 403}, {917, 990}}, drawn(all.Days[0]))
	require.Equal(t, "22:00-08:00", all.Days[0].Quiet[0].Why)
	require.Equal(t, "00:00", all.Days[0].Quiet[0].From.Format("15:04"), "by the clocks there")
	blackout := drawn(all.Days[3])
	require.InDelta(t, 110, blackout[0][0], 0)
	require.InDelta(t, 990, blackout[len(blackout)-1][1], 0)
	for i := 1; i < len(blackout); i++ {
		require.InDelta(t, blackout[i-1][1], blackout[i][0], 0, "the whole day")
	}
	require.Equal(t, [][2]float64{{110, 440}, {550, 990}}, drawn(news.Days[1]), "Monday")
	require.Equal(t, [][2]float64{{110, 990}}, drawn(news.Days[2]))

	weeks, err = weeksOf(message.Policy{Rules: []string{"1/minute"}}, now)
	require.NoError(t, err)
	require.Empty(t, weeks)
}
