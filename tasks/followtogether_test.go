package tasks_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	stories "github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// togetherUsers is how many users have all at once happen to them.
const togetherUsers = 12

// Two changes of settings, two moves and a claim at the same moment leave each message in one place, by
// the rules and by the settings that came last, and with its charge.
func TestSettingsMovesAndClaimsAtOnce(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		seed := rand.Uint64()
		s.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 9))
		s.charges("acme", accounts.Tier{MessagesPerHour: 1000}, "")
		const hour, apart, count = 60, 2, 8 // minutes
		ids := make(map[string][]string)
		for n := range togetherUsers {
			user := "user" + strconv.Itoa(n)
			for k := range count {
				m := s.message("m"+strconv.Itoa(k), time.Duration(hour+apart*k)*time.Minute)
				m.User, m.Account = user, "acme"
				s.accepted(m)
				ids[user] = append(ids[user], m.ID)
			}
		}
		at := time.Duration(hour+2*apart) * time.Minute // when the third is due
		s.until(at - 3*time.Minute)
		stop := s.work()
		s.until(at)
		var together sync.WaitGroup
		for user := range ids {
			quiet := policy.UserSettings{QuietHours: stories.QuietHours(s.T, "01:06-02:00"), Then: policy.ThenShift}
			few := policy.UserSettings{Limits: stories.LimitsOf(s.T, "3/hour"), Then: []policy.Then{policy.ThenShift, policy.ThenDrop}[random.IntN(2)]}
			for _, own := range []policy.UserSettings{quiet, few} {
				refits := s.refitter()
				together.Go(func() {
					stored := s.setsFor(user, own)
					_, err := refits.Follow(s.Context(), user, stored)
					require.NoError(s, err)
				})
			}
			for _, id := range []string{"m2", "m5"} {
				to := s.at(time.Duration(3*hour+random.IntN(count)) * time.Minute)
				together.Go(func() {
					o, err := s.Move(s.Context(), user, id, to)
					require.NoError(s, err)
					require.Contains(s, []string{message.Moved, message.Refused}, o.Outcome, "%+v", o)
				})
			}
		}
		together.Wait()
		s.until(at + 5*time.Minute) // a worker continues what was given up
		stop()
		s.workWhereDue(26 * time.Hour)
		s.requireTogether(at, ids)
		s.requireCharges(nil, ids)
	}, "1/minute", "8/hour")
}

// requireTogether requires that all messages ended, and that what was sent after at has places by the
// rules and by the last settings of its user.
func (s *story) requireTogether(at time.Duration, ids map[string][]string) {
	s.Helper()
	places := make(map[string][]time.Time) // by user
	sent := make(map[string]bool)
	for _, d := range s.recorder.Deliveries() {
		name := fmt.Sprint(d.Notification.User, " ", d.Notification.ID)
		require.False(s, sent[name], "%s twice", name)
		sent[name] = true
		places[d.Notification.User] = append(places[d.Notification.User], d.Notification.SendAt)
	}
	users := settings.NewUsers(s.client, keyspace.KeysUnder(""))
	for user, all := range ids {
		last, err := users.Get(s.Context(), user)
		require.NoError(s, err)
		require.False(s, last.Then.Pending(), "%+v", last)
		for _, id := range all {
			status, _, err := s.Status(s.Context(), user, id)
			require.NoError(s, err)
			require.Equal(s, sent[user+" "+id], status.Status == "delivered", "%+v", status)
			require.Contains(s, []string{"delivered", "dropped"}, status.Status)
		}
		for i, place := range places[user] {
			if !place.After(s.at(at)) {
				continue
			}
			require.False(s, last.QuietHours.Contains(place), "%s of %s, with %+v", place, user, last)
			hour := 0
			for j, other := range places[user] {
				between := place.Sub(other)
				require.False(s, i != j && between.Abs() < time.Minute, "%s: %s and %s", user, place, other)
				if between >= 0 && between < time.Hour {
					hour++
				}
			}
			most := 8
			if len(last.Limits) > 0 {
				most = 3
			}
			require.LessOrEqual(s, hour, most, "%s in the hour before %s: %s, with %+v", user, place, places[user], last)
		}
	}
}
