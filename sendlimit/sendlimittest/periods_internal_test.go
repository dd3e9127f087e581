package sendlimittest

import (
	"testing"
	"time"
	_ "time/tzdata" // the same zones wherever the test runs

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	const (
		minute = calendar.Minute
		hour   = calendar.Hour
		day    = calendar.Day
		week   = calendar.Week
		month  = calendar.Month
	)
	for _, c := range []struct {
		why         string
		zone        string
		period      calendar.Period
		at          string
		from, until string
	}{
		{"plain minute", "UTC", minute, "2026-11-22T11:11:59.999Z", "2026-11-22T11:11:00Z", "2026-11-22T11:12:00Z"},
		{"plain hour", "UTC", hour, "2026-11-22T11:11:11Z", "2026-11-22T11:00:00Z", "2026-11-22T12:00:00Z"},
		{"last ms of a day", "UTC", day, "2026-11-22T23:59:59.999Z", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"first ms of a day", "UTC", day, "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"},
		{"week of a Sunday", "UTC", week, "2026-11-22T11:11:11Z", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"week of a Monday", "UTC", week, "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"},
		{"week over the year's end", "UTC", week, "2027-01-01T12:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		{"leap February", "UTC", month, "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"month from its 31st", "UTC", month, "2026-10-31T12:00:00Z", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"},
		{"before 1970", "UTC", hour, "1969-12-31T23:30:00Z", "1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"},
		{"hours off the full one", "Asia/Kathmandu", hour, "2026-11-22T11:11:11Z", "2026-11-22T10:15:00Z", "2026-11-22T11:15:00Z"},

		{"day of 23 hours", "Europe/Berlin", day, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"day of 25 hours", "Europe/Berlin", day, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"02:30, first time", "Europe/Berlin", hour, "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{"02:30, second time", "Europe/Berlin", hour, "2026-10-25T01:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
		{"week with a 25-hour day", "Europe/Berlin", week, "2026-10-25T12:00:00Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"month with a 23-hour day", "Europe/Berlin", month, "2026-03-15T12:00:00Z", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"},

		{"midnight shown again: 23:30 the second time", "America/Santiago", day, "2026-04-05T03:30:00Z", "2026-04-04T03:00:00Z", "2026-04-05T04:00:00Z"},
		{"the day after it", "America/Santiago", day, "2026-04-05T04:00:00Z", "2026-04-05T04:00:00Z", "2026-04-06T04:00:00Z"},
		{"no midnight: the day starts at 01:00", "America/Santiago", day, "2026-09-06T04:00:00Z", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		{"the day before it", "America/Santiago", day, "2026-09-06T03:59:59.999Z", "2026-09-05T04:00:00Z", "2026-09-06T04:00:00Z"},
		{"midnight gap", "Asia/Beirut", day, "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"},
		{"midnight put back", "Asia/Beirut", day, "2026-10-24T21:30:00Z", "2026-10-23T21:00:00Z", "2026-10-24T22:00:00Z"},

		{"day of 23.5 hours", "Australia/Lord_Howe", day, "2026-10-04T00:00:00Z", "2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z"},
		{"half an hour left of 02:00", "Australia/Lord_Howe", hour, "2026-10-03T15:45:00Z", "2026-10-03T15:30:00Z", "2026-10-03T16:00:00Z"},
		{"whole hour before it", "Australia/Lord_Howe", hour, "2026-10-03T15:15:00Z", "2026-10-03T14:30:00Z", "2026-10-03T15:30:00Z"},
		{"01:45, first time", "Australia/Lord_Howe", hour, "2026-04-04T14:45:00Z", "2026-04-04T14:00:00Z", "2026-04-04T15:00:00Z"},
		{"01:45, second time", "Australia/Lord_Howe", hour, "2026-04-04T15:15:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:30:00Z"},

		{"put back at 00:01: 23:30 again is the new day's", "America/St_Johns", day, "2006-10-29T03:00:00Z", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"},
		{"a date left out", "Pacific/Apia", day, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"the date before it", "Pacific/Apia", day, "2011-12-30T09:59:59.999Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"last day of a leap year, past the zone's tables", "Europe/Berlin", day, "2040-12-31T12:00:00Z", "2040-12-30T23:00:00Z", "2040-12-31T23:00:00Z"},
		{"first day of the year after", "Europe/Berlin", day, "2041-01-01T12:00:00Z", "2040-12-31T23:00:00Z", "2041-01-01T23:00:00Z"},
		{"last hour of a leap year", "Europe/Berlin", hour, "2040-12-31T22:30:00Z", "2040-12-31T22:00:00Z", "2040-12-31T23:00:00Z"},
		{"the turn of the year in UTC is no clock change", "Australia/Adelaide", hour, "2050-01-01T00:10:00Z", "2049-12-31T23:30:00Z", "2050-01-01T00:30:00Z"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			got := periodAt(c.period, zone(t, c.zone), parse(t, c.at))
			require.Equal(t, c.from, moment(got.from).Format(time.RFC3339Nano), "from")
			require.Equal(t, c.until, moment(got.until).Format(time.RFC3339Nano), "until")
		})
	}
}

// Periods tile time: all times of a period have the same period, and the next
// one begins where it ends, also at clock changes.
func TestPeriodsTile(t *testing.T) {
	t.Parallel()
	zones := []string{
		"UTC", "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Asia/Beirut", "Asia/Kathmandu",
		"America/St_Johns", "Pacific/Apia", "Africa/Cairo", "Africa/Casablanca", "Pacific/Chatham",
	}
	earliest, latest := parse(t, "1999-01-01T00:00:00Z"), parse(t, "2090-01-01T00:00:00Z")
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		require.NoError(t, err)
		period := rapid.SampledFrom([]calendar.Period{
			calendar.Minute, calendar.Hour, calendar.Day, calendar.Week, calendar.Month,
		}).Draw(t, "period")
		at := rapid.Int64Range(earliest, latest).Draw(t, "at")
		s := periodAt(period, zone, at)
		require.True(t, s.contains(at))
		require.Equal(t, s, periodAt(period, zone, s.from), "at its start")
		require.Equal(t, s, periodAt(period, zone, rapid.Int64Range(s.from, s.until-1).Draw(t, "within")))
		require.Equal(t, s, periodAt(period, zone, s.until-1), "at its last millisecond")
		require.Equal(t, s.from, periodAt(period, zone, s.from-1).until, "the one before")
		require.Equal(t, s.until, periodAt(period, zone, s.until).from, "the one after")
	})
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	require.NoError(t, err)
	return location
}

func parse(t *testing.T, s string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	require.NoError(t, err)
	return at.UnixMilli()
}
