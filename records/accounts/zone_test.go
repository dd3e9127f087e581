package accounts_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/accounts"
)

// A change of the zone opens no other day: the one under way ends where it ends in the zone
// that counts, however often the zone is changed meanwhile. Every later time counts in the
// new zone.
func TestAChangedZoneClosesTheDayUnderWay(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	zones := []string{
		"", "UTC", "Pacific/Auckland", "America/Los_Angeles", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Pacific/Apia",
		"Asia/Kathmandu", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe",
	}
	name := 0
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 400*24*60).Draw(t, "minute")) * time.Minute)
		r.server.SetTime(start)
		name++
		account, err := r.Create(t.Context(), accounts.Account{
			Name: "a" + strconv.Itoa(name), TimeZone: rapid.SampledFrom(zones).Draw(t, "first"),
		})
		require.NoError(t, err)
		now := start
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			_, before, err := account.Periods(now)
			require.NoError(t, err)
			to := rapid.SampledFrom(zones).Draw(t, "to")
			account, err = r.Set(t.Context(), account.Name, accounts.Change{TimeZone: &to})
			require.NoError(t, err)
			require.Equal(t, to, account.TimeZone)
			for at := now; at.Before(before.Until); at = at.Add(53 * time.Minute) {
				_, day, err := account.Periods(at)
				require.NoError(t, err)
				require.Equal(t, before, day, "at %s", at)
			}
			for _, later := range []time.Duration{0, time.Minute, 30 * time.Hour} {
				require.Equal(t, to, account.ZoneAt(before.Until.Add(later)))
				hour, day, err := account.Periods(before.Until.Add(later))
				require.NoError(t, err)
				require.True(t, day.Until.After(before.Until.Add(later)))
				require.True(t, hour.Until.After(before.Until.Add(later)))
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 20*60).Draw(t, "minutes later")) * time.Minute)
			r.server.SetTime(now)
		}
		stored, ok, err := r.Get(t.Context(), account.Name)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, account, stored)
	})
}

// The table of one change, both ways over the date line.
func TestAChangedZoneOverTheDateLine(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		from, to          string
		now, until, first string // the end of the day under way, and of the first day in the new zone
	}{
		"to the east":   {"Pacific/Auckland", "America/Los_Angeles", "2026-11-22T20:00:00Z", "2026-11-23T11:00:00Z", "2026-11-24T08:00:00Z"},
		"to the west":   {"America/Los_Angeles", "Pacific/Auckland", "2026-11-22T20:00:00Z", "2026-11-23T08:00:00Z", "2026-11-23T11:00:00Z"},
		"a whole day":   {"Pacific/Pago_Pago", "Pacific/Kiritimati", "2026-11-22T20:00:00Z", "2026-11-23T11:00:00Z", "2026-11-24T10:00:00Z"},
		"the same time": {"Pacific/Auckland", "Antarctica/McMurdo", "2026-11-22T20:00:00Z", "2026-11-23T11:00:00Z", "2026-11-24T11:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegistry(t)
			at := func(text string) time.Time {
				parsed, err := time.Parse(time.RFC3339, text)
				require.NoError(t, err)
				return parsed
			}
			r.server.SetTime(at(row.now))
			_, err := r.Create(t.Context(), accounts.Account{Name: "acme", TimeZone: row.from})
			require.NoError(t, err)
			changed, err := r.Set(t.Context(), "acme", accounts.Change{TimeZone: &row.to})
			require.NoError(t, err)
			require.Equal(t, at(row.until), changed.ZoneFrom)
			require.Equal(t, row.from, changed.FormerZone)
			_, day, err := changed.Periods(at(row.until))
			require.NoError(t, err)
			require.Equal(t, at(row.first), day.Until.UTC())
			// Back again before the end: nothing has changed.
			back, err := r.Set(t.Context(), "acme", accounts.Change{TimeZone: &row.from})
			require.NoError(t, err)
			require.True(t, back.ZoneFrom.IsZero())
		})
	}
}
