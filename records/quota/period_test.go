package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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
			zone, err := calendar.ParseTimeZone(test.zone)
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

// A change of the time zone in the middle of a day opens no second quota for the day under
// way. Over the date line, too, both ways.
func TestAChangedZoneIsNoSecondQuota(t *testing.T) {
	t.Parallel()
	for _, zones := range [][2]string{
		{"Pacific/Auckland", "America/Los_Angeles"}, {"America/Los_Angeles", "Pacific/Auckland"}, {"", "Asia/Kathmandu"}, {"Pacific/Kiritimati", "Pacific/Pago_Pago"},
	} {
		t.Run(zones[0]+" "+zones[1], func(t *testing.T) {
			t.Parallel()
			s := newChargeStory(t)
			s.tier.MessagesPerHour = 0
			directory, err := accounts.New(s.client, "")
			require.NoError(t, err)
			require.NoError(t, directory.SetTier(t.Context(), s.tier))
			s.wait(13*time.Hour + 17*time.Minute)
			s.account, err = directory.Create(t.Context(), accounts.Account{Name: "acme", Tier: s.tier.Name, TimeZone: zones[0]})
			require.NoError(t, err)
			_, day, err := s.account.Periods(s.now)
			require.NoError(t, err)
			last := day.Until.Add(-time.Second) // of the day under way
			for _, id := range []string{"a", "b", "c"} {
				s.holdOf(id, last)
			}
			require.Equal(t, fault.CodeQuotaExceeded, s.hold("d", last).Code)
			for range 3 { // there, back, and there again
				for _, zone := range []string{zones[1], zones[0], zones[1]} {
					s.account, err = s.charges.SetAccount(t.Context(), directory, "acme", accounts.Change{TimeZone: &zone})
					require.NoError(t, err)
					refused := s.hold("d", last)
					require.Equal(t, fault.CodeQuotaExceeded, refused.Code)
					require.Equal(t, day.Until, refused.UsedUp.Until)
					require.Equal(t, fault.CodeQuotaExceeded, s.hold("e", s.now).Code)
				}
			}
			balance, err := s.charges.Balance(t.Context(), s.account, s.tier)
			require.NoError(t, err)
			require.Equal(t, int64(3), balance.Day.Used)
			require.Equal(t, day.Until, balance.Day.Until)

			// The new zone begins with the next day, and has its own.
			for _, id := range []string{"f", "g", "h"} {
				s.holdOf(id, day.Until)
			}
			refused := s.hold("i", day.Until)
			require.Equal(t, fault.CodeQuotaExceeded, refused.Code)
			_, first, err := accounts.Account{TimeZone: zones[1]}.Periods(day.Until)
			require.NoError(t, err)
			require.Equal(t, first.Until, refused.UsedUp.Until)
			s.holdOf("j", first.Until)
		})
	}
}
