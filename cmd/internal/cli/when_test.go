package cli_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func now() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 123_456_789, time.UTC) }

func TestParseTime(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ s, tz, want string }{
		{"2026-11-22T11:11:11Z", "", "2026-11-22T11:11:11Z"},
		{"2026-11-22T11:11:11+01:00", "", "2026-11-22T10:11:11Z"},
		{"2026-11-22T11:11:11-09:30", "Europe/Berlin", "2026-11-22T20:41:11Z"}, // its own zone goes before --tz
		{"2026-11-22T11:11:11.9999999Z", "", "2026-11-22T11:11:11.999Z"},       // cut, not rounded
		{"2026-11-22 11:11 UTC", "Europe/Berlin", "2026-11-22T11:11:00Z"},
		{"+90m", "", "2026-11-21T11:30:00.123Z"},
		{"+7d", "", "2026-11-28T10:00:00.123Z"},
		{"+1d12h", "Europe/Berlin", "2026-11-22T22:00:00.123Z"},
		{"+0s", "", "2026-11-21T10:00:00.123Z"},
		{"2026-11-22 11:11", "UTC", "2026-11-22T11:11:00Z"},
		{"2026-11-22 11:11", "Europe/Berlin", "2026-11-22T10:11:00Z"},
		{"2026-07-22 11:11:12", "Europe/Berlin", "2026-07-22T09:11:12Z"},
		{"2026-07-22 11:11:12.3456", "Europe/Berlin", "2026-07-22T09:11:12.345Z"},
		{"2026-11-22T11:11:11", "Asia/Kathmandu", "2026-11-22T05:26:11Z"},
		{"2026-11-22T11:11", "Asia/Kathmandu", "2026-11-22T05:26:00Z"},
		{"2028-02-29 00:00", "UTC", "2028-02-29T00:00:00Z"},

		// Around clock changes.
		{"2026-03-29 01:59:59", "Europe/Berlin", "2026-03-29T00:59:59Z"},
		{"2026-03-29 03:00", "Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"2026-10-25 01:59:59.999", "Europe/Berlin", "2026-10-24T23:59:59.999Z"},
		{"2026-10-25 03:00", "Europe/Berlin", "2026-10-25T02:00:00Z"},
		{"2026-10-25T02:30:00+02:00", "Europe/Berlin", "2026-10-25T00:30:00Z"}, // the way out of a doubled hour
		{"2026-04-05 02:00", "Australia/Lord_Howe", "2026-04-04T15:30:00Z"},    // half an hour back: 1:30 to 2:00 is twice
		{"2011-12-29 23:59", "Pacific/Apia", "2011-12-30T09:59:00Z"},           // the day before the one that was skipped
		{"2011-12-31 00:00", "Pacific/Apia", "2011-12-30T10:00:00Z"},
	} {
		got, err := cli.ParseTime("send_at", row.s, row.tz, now())
		require.NoError(t, err, row.s)
		require.False(t, got.Now)
		require.Equal(t, time.UTC, got.At.Location())
		require.Equal(t, row.want, got.At.Format(time.RFC3339Nano), "%s %s", row.s, row.tz)
	}
	got, err := cli.ParseTime("send_at", "now", "", now())
	require.NoError(t, err)
	require.Equal(t, cli.When{Now: true}, got)
}

func TestParseTimeRefuses(t *testing.T) {
	t.Parallel()
	const form = `an RFC 3339 time such as 2040-06-22T11:11:11Z, now, +90m or with --tz a local time such as "2040-06-22 11:11"`
	const zone = "a time with its zone, such as 2040-06-22T11:11:11Z or 2040-06-22T11:11:11+01:00; --tz Europe/Berlin gives the zone for all"
	const relative = "a length of time after the +, such as +90s, +90m, +36h or +7d"
	const exists = "a date and time that exist"
	for _, row := range []struct{ s, tz, want string }{
		{"", "", form},
		{"tomorrow", "", form},
		{"tomorrow", "Europe/Berlin", form},
		{"NOW", "", form},
		{" now", "", form},
		{"1763710000", "", form},
		{"2026-11-22", "UTC", form}, // at midnight? at this hour?
		{"11:11", "UTC", form},
		{"22.11.2026 11:11", "UTC", form},
		{"2026-11-22T11:11:11,5Z", "", form}, // not RFC 3339, though Go takes it
		{"2026-11-22T1:11:11Z", "", form},
		{"2026-11-22 11:11\n", "UTC", form},
		{"2026-11-22 11:11", "", zone},
		{"2026-11-22T11:11:11", "", zone},
		{"+", "", relative},
		{"+90", "", relative},
		{"+-90m", "", relative},
		{"++90m", "", relative},
		{"+1.5d", "", relative},
		{"2026-02-29T00:00:00Z", "", exists},
		{"2026-02-30 10:00", "UTC", exists},
		{"2026-13-01 10:00", "UTC", exists},
		{"2026-11-22 24:00", "UTC", "hours from 00 to 23: the end of a day is 00:00:00 of the next day"},
		{"2026-12-31T23:59:60Z", "", "seconds from 00 to 59"}, // a leap second
		{"2026-11-22T11:11:11+24:00", "", "an offset from UTC of at most 23:59"},
	} {
		got, err := cli.ParseTime("expires_at", row.s, row.tz, now())
		require.Equal(t, &fault.InvalidError{Field: "expires_at", Value: row.s, Want: row.want}, err, "%q %s", row.s, row.tz)
		require.Zero(t, got)
	}
}

// A local time that clocks skip or show twice gets a sentence with what to write.
func TestParseTimeThatClocksSkipOrRepeat(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ s, tz, want string }{
		{"2026-03-29 02:00", "Europe/Berlin", "does not exist in Europe/Berlin: clocks go forward over it; the nearest times are 2026-03-29 01:59 and 2026-03-29 03:00"},
		{"2026-03-29 02:59:59", "Europe/Berlin", "does not exist in Europe/Berlin: clocks go forward over it; the nearest times are 2026-03-29 01:59:59 and 2026-03-29 03:00:00"},
		{"2026-03-08 02:30", "America/New_York", "does not exist in America/New_York: clocks go forward over it; the nearest times are 2026-03-08 01:59 and 2026-03-08 03:00"},
		{"2026-10-04 02:15", "Australia/Lord_Howe", "does not exist in Australia/Lord_Howe: clocks go forward over it; the nearest times are 2026-10-04 01:59 and 2026-10-04 02:30"},
		{"2011-12-30 12:00", "Pacific/Apia", "does not exist in Pacific/Apia: clocks go forward over it; the nearest times are 2011-12-29 23:59 and 2011-12-31 00:00"},
		{"2026-10-25 02:00", "Europe/Berlin", "is ambiguous in Europe/Berlin: clocks go back and show it twice; write 2026-10-25T02:00:00+02:00 or 2026-10-25T02:00:00+01:00"},
		{"2026-10-25 02:59:59.5", "Europe/Berlin", "is ambiguous in Europe/Berlin: clocks go back and show it twice; write 2026-10-25T02:59:59.5+02:00 or 2026-10-25T02:59:59.5+01:00"},
		{"2026-04-05 01:45", "Australia/Lord_Howe", "is ambiguous in Australia/Lord_Howe: clocks go back and show it twice; write 2026-04-05T01:45:00+11:00 or 2026-04-05T01:45:00+10:30"},
	} {
		_, err := cli.ParseTime("expires_at", row.s, row.tz, now())
		require.Equal(t, &fault.InvalidError{
			Field: "expires_at", Value: row.s, Says: row.s + " " + row.want,
		}, err)
	}
}

// What an ambiguous or skipped time is refused with can be written instead.
func TestWhatIsOfferedInsteadIsAccepted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ s, tz string }{
		{"2026-03-29 01:59", "Europe/Berlin"},
		{"2026-03-29 03:00", "Europe/Berlin"},
		{"2026-10-25T02:00:00+02:00", "Europe/Berlin"},
		{"2026-10-25T02:00:00+01:00", ""},
		{"2011-12-29 23:59", "Pacific/Apia"},
	} {
		_, err := cli.ParseTime("send_at", row.s, row.tz, now())
		require.NoError(t, err, row.s)
	}
}

// Every half hour of a year is either one instant that shows it, or refused,
// and what is refused is what the clock changes skip and repeat.
func TestEveryHalfHourOfAYear(t *testing.T) {
	t.Parallel()
	for tz, refused := range map[string]int{
		"Europe/Berlin": 4, "Australia/Lord_Howe": 2,
	} {
		zone, err := cli.ParseZone(tz)
		require.NoError(t, err)
		none := 0
		for wall := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); wall.Year() == 2026; wall = wall.Add(30 * time.Minute) {
			s := wall.Format("2006-01-02 15:04")
			got, err := cli.ParseTime("send_at", s, tz, now())
			if err != nil {
				none++
				continue
			}
			require.Equal(t, s, got.At.In(zone).Format("2006-01-02 15:04"))
		}
		require.Equal(t, refused, none, tz)
	}
}

func TestParseZone(t *testing.T) {
	t.Parallel()
	zone, err := cli.ParseZone("")
	require.NoError(t, err)
	require.Equal(t, time.UTC, zone)
	for _, tz := range []string{"Mars/Olympus", "Local", "../etc/passwd", "CEST", "+01:00"} {
		_, err := cli.ParseZone(tz)
		want := &fault.InvalidError{Field: "tz", Value: tz, Want: "an IANA time zone such as Europe/Berlin"}
		require.Equal(t, want, err)
		// Refused also where the time would not need it.
		_, err = cli.ParseTime("send_at", "now", tz, now())
		require.Equal(t, want, err)
	}
}

func TestFormatTime(t *testing.T) {
	t.Parallel()
	berlin, err := cli.ParseZone("Europe/Berlin")
	require.NoError(t, err)
	at := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	require.Equal(t, "2026-11-22 11:11:11 UTC", cli.FormatTime(at, time.UTC))
	require.Equal(t, "2026-11-22 12:11:11 CET", cli.FormatTime(at, berlin))
	require.Equal(t, "2026-11-22 11:11:11.040 UTC", cli.FormatTime(at.Add(40*time.Millisecond), time.UTC))
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0 seconds":                 0,
		"1 millisecond":             time.Millisecond + 999,
		"1 second 250 milliseconds": 1250 * time.Millisecond,
		"59 seconds":                59 * time.Second,
		"1 minute":                  time.Minute + 3*time.Millisecond, // which is too fine by then
		"1 minute 30 seconds":       90 * time.Second,
		"2 hours 5 minutes":         2*time.Hour + 5*time.Minute + 7*time.Second,
		"3 days":                    72 * time.Hour,
		"1 day 5 minutes":           24*time.Hour + 5*time.Minute,
		"-1 minute":                 -time.Minute,
	} {
		require.Equal(t, want, cli.FormatDuration(d))
	}
}
