package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

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
