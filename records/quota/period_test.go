package quota_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
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
			directory := accounts.New(s.client, keyspace.KeysUnder(""))
			require.NoError(t, directory.SetTier(t.Context(), s.tier))
			s.wait(13*time.Hour + 17*time.Minute)
			var err error
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
			require.Len(t, balance.Days, quota.BalanceDays)
			require.Equal(t, int64(3), balance.Days[0].Used)
			require.Equal(t, day.Until, balance.Days[0].Until)

			// The new zone begins with the next day, and has its own.
			for _, id := range []string{"f", "g", "h"} {
				s.holdOf(id, day.Until)
			}
			balance, err = s.charges.Balance(t.Context(), s.account, s.tier)
			require.NoError(t, err)
			require.Equal(t, int64(3), balance.Days[1].Used)
			refused := s.hold("i", day.Until)
			require.Equal(t, fault.CodeQuotaExceeded, refused.Code)
			_, first, err := accounts.Account{TimeZone: zones[1]}.Periods(day.Until)
			require.NoError(t, err)
			require.Equal(t, first.Until, refused.UsedUp.Until)
			s.holdOf("j", first.Until)
		})
	}
}

// The next and the previous open time are the nearest ones that a hold would get, for any account
// and throttle, in zones with half hours, and where an account's zone changes.
func TestNextOpenIsWhereAHoldIsGiven(t *testing.T) {
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 6) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newThrottleStory(t, 1+random.IntN(3))
		s.throttle.Period = calendar.Hour
		zones := []string{"", "Asia/Kathmandu", "America/Los_Angeles", "Australia/Lord_Howe"}
		s.account = accounts.Account{
			Name: "acme", FormerZone: zones[random.IntN(4)], TimeZone: zones[random.IntN(4)], ZoneFrom: story.At("00:00").Add(time.Duration(24+random.IntN(24)) * time.Hour),
		}
		_, day, err := accounts.Account{TimeZone: s.account.FormerZone}.Periods(s.account.ZoneFrom)
		require.NoError(t, err)
		s.account.ZoneFrom = day.Until // as Set does it
		s.tier = accounts.Tier{MessagesPerHour: int64(random.IntN(3)), MessagesPerDay: int64(4 * random.IntN(3))}
		asked := []quota.Request{
			{Account: s.account, Tier: s.tier, Throttle: s.throttle}, {Account: s.account, Tier: s.tier}, {Throttle: s.throttle},
		}
		for i := range 10 + random.IntN(60) {
			r := asked[random.IntN(3)]
			r.User, r.ID, r.At = "u", fmt.Sprint(i), story.At("00:00").Add(time.Duration(random.IntN(80*60))*time.Minute)
			_, err := s.charges.Hold(t.Context(), r)
			require.NoError(t, err)
		}
		for range 12 {
			r, step, within := asked[random.IntN(3)], 5*time.Minute, time.Duration(0) // each period begins at a multiple
			from := story.At("00:00").Add(time.Duration(random.IntN(72*12)) * step)
			if random.IntN(2) == 0 {
				step, within = -step, step-time.Millisecond // each period ends before a multiple
			}
			r.User, r.ID, r.At = "u", "new", from
			const steps = 20 * 12
			until, want := from.Add(steps*step), time.Time{}
			for i := range steps + 1 {
				dry := r
				if dry.At = from.Add(time.Duration(i) * step); i > 0 {
					dry.At = dry.At.Add(within)
				}
				charge, err := s.charges.StartDryRun().Hold(t.Context(), dry)
				require.NoError(t, err)
				if charge.Allowed {
					want = dry.At
					break
				}
			}
			if until.Before(s.now) {
				until = s.now
			}
			open, err := s.charges.NextOpen(t.Context(), r, until)
			require.NoError(t, err)
			require.Equal(t, want, open, "from %s to %s, %+v of %+v", from, until, r.Tier, r.Account)
		}
	}
}

func TestLinesComeBackEvenly(t *testing.T) {
	t.Parallel()
	m, client := redistest.Embedded(t)
	now := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	m.SetTime(now)
	charges, err := quota.New(client, quota.Options{Prefix: "p"})
	require.NoError(t, err)
	take := func(account string, n int64) rate.Grant {
		t.Helper()
		g, err := charges.TakeLines(t.Context(), account, 60, n)
		require.NoError(t, err)
		return g
	}
	require.True(t, take("acme", 60).Allowed)
	refused := take("acme", 1)
	require.False(t, refused.Allowed)
	require.Equal(t, time.Second, refused.RetryAfter)
	require.True(t, take("beta", 1).Allowed, "another account has a bucket of its own")

	require.NoError(t, charges.GiveLinesBack(t.Context(), "acme", 60, 2))
	require.True(t, take("acme", 2).Allowed)
	m.SetTime(now.Add(10 * time.Second))
	require.True(t, take("acme", 10).Allowed)
	require.False(t, take("acme", 1).Allowed)
	for _, key := range m.Keys() {
		require.Regexp(t, `^p:\{p\d{4}\}:tokens:lines `, key)
		require.Positive(t, m.TTL(key))
	}
}

// Every limit that a tier can have has a rate, which is at least that and hardly more.
func TestTheRateOfLines(t *testing.T) {
	t.Parallel()
	for _, perMinute := range []int64{1, 59, 60, 6000, 99_999, 100_000, 100_001, 123_457, 6_000_000, 999_999_937, accounts.MaxTierLimit} {
		r := quota.LineRate(perMinute)
		require.NoError(t, r.Validate(), perMinute)
		got := float64(r.Count) * float64(time.Minute) / float64(r.Interval)
		require.GreaterOrEqual(t, got, float64(perMinute))
		require.LessOrEqual(t, got, float64(perMinute)*1.00002)
	}
	require.Equal(t, rate.Rate{Count: 6000, Interval: time.Minute}, quota.LineRate(6000))
}
