package calendar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

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
