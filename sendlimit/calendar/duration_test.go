package calendar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0,
		"1h30m": 90 * time.Minute, "-5m": -5 * time.Minute,
	} {
		got, err := calendar.ParseDuration(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "d", "7", "-7d", "+7d", "1.5d", "7d-1h", "7d 1h", "7d1d", "99999999d", "7D", "seven"} {
		_, err := calendar.ParseDuration(s)
		require.Error(t, err, s)
	}
	for want, d := range map[string]time.Duration{
		"366d": 366 * 24 * time.Hour, "1d": 24 * time.Hour, "36h": 36 * time.Hour, "15m": 15 * time.Minute,
		"1h30m": 90 * time.Minute, "1h0m5s": time.Hour + 5*time.Second, "100ms": 100 * time.Millisecond, "0s": 0,
		"10m": 10 * time.Minute,
	} {
		require.Equal(t, want, calendar.FormatDuration(d))
		back, err := calendar.ParseDuration(want)
		require.NoError(t, err)
		require.Equal(t, d, back)
	}
}

func TestDayStart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, at, want string }{
		{"UTC", "2026-11-22T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"UTC", "2026-11-22T23:59:59.999Z", "2026-11-22T00:00:00Z"},
		{"Europe/Berlin", "2026-03-29T21:59:59Z", "2026-03-29T00:00:00+01:00"},     // of 23 hours
		{"Europe/Berlin", "2026-10-25T22:59:59Z", "2026-10-25T00:00:00+02:00"},     // of 25 hours
		{"America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-11-04T01:00:00-02:00"}, // which begins at one
		{"America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T00:00:00-04:00"},    // whose first hour comes twice
		{"Asia/Kathmandu", "2026-11-22T18:14:59Z", "2026-11-22T00:00:00+05:45"},
	} {
		zone, err := calendar.ParseTimeZone(test.zone)
		require.NoError(t, err)
		when, err := time.Parse(time.RFC3339, test.at)
		require.NoError(t, err)
		require.Equal(t, test.want, calendar.DayStart(when, zone).Format(time.RFC3339), test.zone)
	}
	require.Equal(t, story.At("00:00"), calendar.DayStart(story.At("12:00"), nil))
}
