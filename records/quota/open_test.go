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
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

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
