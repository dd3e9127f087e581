package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// charged is a message of account acme to a user.
func (s *story) charged(user, id string, after time.Duration) message.Message {
	m := s.message(id, after)
	m.User, m.Account = user, "acme"
	return m
}

// What leaves the hour and the day that it was asked for, since the user's policy
// says so, is charged for those where it comes to stand, and for no other.
func TestAShiftByPolicyIsCharged(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 2, MessagesPerDay: 3}, "UTC")
		s.policy(func(p *policy.Policy) {
			p.QuietHours, p.OnConflict = quiet(s, "22:00-08:00"), policy.Shift
		})
		night := 22*time.Hour + 30*time.Minute
		first := s.charged("u1", "a", night)
		o, err := s.Check(s.Context(), first)
		require.NoError(s, err)
		require.Equal(s, s.at(32*time.Hour), o.SendAt.Time)
		o = s.submit(first)
		require.Equal(s, s.at(32*time.Hour), o.SendAt.Time)
		require.True(s, s.submit(first).Replayed)
		require.Equal(s, s.at(32*time.Hour), s.submit(s.charged("u2", "b", night)).SendAt.Time)
		o = s.submit(s.charged("u3", "c", night))
		require.Equal(s, fault.CodeQuotaExceeded, o.Code, "%+v", o)
		require.Equal(s, s.at(33*time.Hour), o.ResetsAt.Time)

		refused := s.charged("u4", "d", night)
		refused.OnConflict = message.OnConflictRefuse
		require.Equal(s, fault.CodeQuietHours, s.submit(refused).Code, "it holds nothing")
		s.requireCharges(map[string]*time.Location{"acme": time.UTC},
			map[string][]string{"u1": {"a"}, "u2": {"b"}, "u3": {"c"}, "u4": {"d"}})
	})
}

// What is never accepted for a user is said before what an account has left.
func TestBlockedAndQuietComeBeforeTheQuota(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerDay: 1}, "UTC")
		s.policy(func(p *policy.Policy) { p.QuietHours = quiet(s, "22:00-08:00") })
		s.accepted(s.charged("u1", "a", 12*time.Hour))
		s.set("u2", policy.UserSettings{Blocked: true})
		for user, code := range map[string]fault.Code{"u2": fault.CodeBlocked, "u3": fault.CodeQuietHours} {
			m := s.charged(user, "b", 22*time.Hour+30*time.Minute)
			require.Equal(s, code, s.submit(m).Code)
			o, err := s.Check(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, code, o.Code)
		}
		require.Equal(s, fault.CodeQuotaExceeded, s.submit(s.charged("u3", "b", 12*time.Hour)).Code)
		s.requireCharges(map[string]*time.Location{"acme": time.UTC},
			map[string][]string{"u1": {"a"}, "u2": {"b"}, "u3": {"b"}})
	})
}
