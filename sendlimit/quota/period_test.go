package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/counters"
)

// plainPeriods are the natural hours and days of a zone around a time. They are
// found by reading its clock every minute: an hour lasts while the clock shows
// it with one offset, and a day begins when its date is first shown.
type plainPeriods struct{ hours, days []time.Time } // where each begins

func newPlainPeriods(zone *time.Location, around time.Time) plainPeriods {
	var p plainPeriods
	first := around.Add(-8 * 24 * time.Hour).Truncate(time.Hour)
	hour, newest := "", ""
	for at := first; at.Before(around.Add(8 * 24 * time.Hour)); at = at.Add(time.Minute) {
		local := at.In(zone)
		if shown := local.Format("2006-01-02T15 -07:00"); shown != hour {
			hour = shown
			p.hours = append(p.hours, at)
		}
		if date := local.Format(time.DateOnly); date > newest {
			newest = date
			p.days = append(p.days, at)
		}
	}
	return p
}

func requirePeriod(t *testing.T, starts []time.Time, at time.Time, u counters.Usage) {
	t.Helper()
	i := 1
	for !starts[i].After(at) {
		i++
	}
	require.Equal(t, []string{formatTime(starts[i-1]), formatTime(starts[i])}, []string{formatTime(u.From), formatTime(u.Until)},
		"%s of %s", u.Counter.Name, formatTime(at))
}

func formatTime(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// clockChanges returns the clock changes of a zone in a year.
func clockChanges(zone *time.Location, year int) []time.Time {
	var changes []time.Time
	_, before := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).In(zone).Zone()
	for at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == year; at = at.Add(time.Minute) {
		if _, offset := at.In(zone).Zone(); offset != before {
			before = offset
			changes = append(changes, at)
		}
	}
	return changes
}

func TestChargesCountInTheDaysOfTheZone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		zone    string
		year    int
		changes int
	}{
		{"Europe/Berlin", 2026, 2},       // days of 23 and of 25 hours
		{"America/New_York", 2026, 2},    // its clocks change on other days
		{"Australia/Sydney", 2026, 2},    // in the south it is the reverse
		{"America/Santiago", 2026, 2},    // its clocks change at midnight: a day begins at one, another comes back
		{"America/Sao_Paulo", 2018, 2},   // so did these
		{"Africa/Cairo", 2025, 2},        // and these
		{"America/Havana", 2026, 2},      // here midnight is shown twice
		{"Australia/Lord_Howe", 2026, 2}, // by half an hour
		{"Antarctica/Troll", 2026, 2},    // by two hours
		{"Asia/Pyongyang", 2018, 1},      // to another half-hour for good
		{"Pacific/Apia", 2011, 3},        // a date that never was
		{"Asia/Kolkata", 2026, 0},
		{"Asia/Kathmandu", 2026, 0}, // 5:45 ahead
		{"UTC", 2026, 0},
	} {
		t.Run(test.zone, func(t *testing.T) {
			t.Parallel()
			s := newChargeStory(t)
			s.account.TimeZone = test.zone
			zone, err := time.LoadLocation(test.zone)
			require.NoError(t, err)
			changes := clockChanges(zone, test.year)
			require.Len(t, changes, test.changes)
			for _, around := range append(changes, time.Date(test.year, 12, 31, 23, 0, 0, 0, time.UTC)) {
				plain := newPlainPeriods(zone, around)
				for _, edge := range plain.hours {
					if edge.Sub(around).Abs() > 2*24*time.Hour {
						continue
					}
					// Clocks change at whole seconds, but messages may be sent
					// at any millisecond.
					for _, at := range []time.Time{edge.Add(-time.Millisecond), edge, edge.Add(7*time.Minute + time.Millisecond)} {
						usage, err := s.charges.Usage(t.Context(), s.account, s.tier, at)
						require.NoError(t, err)
						requirePeriod(t, plain.hours, at, usage[0])
						requirePeriod(t, plain.days, at, usage[1])
					}
				}
			}
		})
	}
}
