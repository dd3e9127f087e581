package calendar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
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
