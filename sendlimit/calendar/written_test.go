package calendar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Times are read in the forms in which other systems write them.
func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2027-06-22T11:00:00Z":              "2027-06-22T11:00:00Z",
		"2027-06-22T11:00Z":                 "2027-06-22T11:00:00Z",
		"2027-06-22t11:00:00z":              "2027-06-22T11:00:00Z",
		"2027-06-22 11:00:00+00:00":         "2027-06-22T11:00:00Z",
		"2027-06-22T11:00:00+0000":          "2027-06-22T11:00:00Z",
		"2027-06-22 11:00:00+02":            "2027-06-22T09:00:00Z", // PostgreSQL
		"2027-06-22 11:00:00.123456+02":     "2027-06-22T09:00:00.123Z",
		"2027-06-22 11:00:00 -0930":         "2027-06-22T20:30:00Z", // Ruby
		"2027-06-22 11:00:00 UTC":           "2027-06-22T11:00:00Z",
		"2027-06-22T11:00:00.9999999+23:59": "2027-06-21T11:01:00.999Z",
		"2027-06-22T11:00:00-23:59":         "2027-06-23T10:59:00Z",
		"1970-01-01T00:00:00Z":              "1970-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z":              "9999-12-31T23:59:59Z",
	} {
		at, err := calendar.ParseTime(text, nil)
		require.NoError(t, err, text)
		require.Equal(t, want, at.Format(time.RFC3339Nano), text)
		require.Equal(t, time.UTC, at.Location())
	}
	berlin, err := calendar.ParseTimeZone("Europe/Berlin")
	require.NoError(t, err)
	for _, text := range []string{"2027-06-22 11:00", "2027-06-22T11:00", "2027-06-22t11:00:00.000"} {
		at, err := calendar.ParseTime(text, berlin)
		require.NoError(t, err)
		require.Equal(t, "2027-06-22T09:00:00Z", at.Format(time.RFC3339Nano), text)
	}
}

// The error for an invalid or impossible time says what is allowed.
func TestParseTimeRefuses(t *testing.T) {
	t.Parallel()
	const exists, years = "a date and time that exist", "a time of the years 1 to 9999 in UTC"
	const offset = "an offset from UTC of at most 23:59"
	for text, want := range map[string]string{
		"2027-06-22T11:00:00+24:00":   offset,
		"2027-06-22T11:00:00+23:60":   offset,
		"2027-06-22T11:00:00+99":      offset,
		"2027-06-22T23:59:60Z":        "seconds from 00 to 59",
		"2027-06-22T24:00:00Z":        "hours from 00 to 23: the end of a day is 00:00:00 of the next day",
		"2027-06-22 24:00":            "hours from 00 to 23: the end of a day is 00:00:00 of the next day",
		"2027-02-29T00:00:00Z":        exists,
		"2027-06-31 11:00":            exists,
		"2027-06-22T11:60Z":           exists,
		"2027-06-22T11:00":            calendar.WantZone,
		"2027-06-22 11:00:00":         calendar.WantZone,
		"2027-06-22":                  calendar.WantTime,
		"2027-06-22T1:00:00Z":         calendar.WantTime,
		"2027-06-22T11:00:00,5Z":      calendar.WantTime,
		"2027-06-22T11:00:00 +02:00 ": calendar.WantTime,
		" 2027-06-22T11:00:00Z":       calendar.WantTime,
		"2027-06-22T11:00:00\u00a0Z":  calendar.WantTime,
		"22.06.2027 11:00":            calendar.WantTime,
		"1813662000":                  calendar.WantTime,
		"now":                         calendar.WantTime,
		"":                            calendar.WantTime,
		"0001-01-01T00:00:00Z":        years,
		"0000-12-31T23:59:59Z":        years,
		"9999-12-31T23:00:00-02:00":   years,
		"0001-01-01T00:00:00+00:01":   years,
		"0001-01-01T00:00:00.0005Z":   years, // cut, it would be the zero time, which means none
		"20270622T110000Z":            calendar.WantTime,
		"12027-06-22T11:00:00Z":       calendar.WantTime,
		"2027-06-22T11:00:00.Z":       calendar.WantTime,
		"2027-06-22T11:00:00 CET":     calendar.WantTime,
		"2027-06-22T11:00:00Z\x00":    calendar.WantTime,
		"２０２７-06-22T11:00:00Z":        calendar.WantTime,
	} {
		_, err := calendar.ParseTime(text, nil)
		require.Equal(t, &fault.InvalidError{Value: text, Want: want}, err, text)
	}
}

// Zones are those of the program. A name that is none of them has the IANA name where it is known.
func TestParseTimeZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "US/Pacific", "Etc/GMT+12", "CET"} {
		zone, err := calendar.ParseTimeZone(name)
		require.NoError(t, err, name)
		require.Contains(t, []string{name, "UTC"}, zone.String())
	}
	const want = "an IANA time zone such as Europe/Berlin"
	for name, hint := range map[string]string{
		"W. Europe Standard Time": ": write Europe/Berlin",
		"eastern standard time":   ": write America/New_York",
		"UTC+12":                  ": write Etc/GMT-12",
		"GMT+2":                   ": write Etc/GMT-2, which has the opposite sign",
		"utc-05:00":               ": write Etc/GMT+5, which has the opposite sign",
		"GMT+15":                  "",
		"europe/berlin":           ": write Europe/Berlin",
		"posix/Europe/Berlin":     "",
		"right/Europe/Berlin":     "",
		"localtime":               "",
		"Local":                   "",
		"posixrules":              "",
		"Europe":                  "",
		"Europe/":                 "",
		".":                       "",
		"../zoneinfo.zip":         "",
		"/usr/share/zoneinfo/UTC": "",
		"Europe/Berlin\x00":       "",
		"+02:00":                  "",
		"Factory/x":               "",
	} {
		_, err := calendar.ParseTimeZone(name)
		require.Equal(t, &fault.InvalidError{Field: "time_zone", Value: name, Want: want + hint}, err, name)
	}
}

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
