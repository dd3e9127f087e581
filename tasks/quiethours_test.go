package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// nights is the default policy with quiet nights, and one-time codes that go out
// all the same.
func (s *story) nights() {
	s.Helper()
	s.policy(func(p *policy.Policy) {
		p.QuietHours = quiet(s, "22:00-08:00")
		p.Categories = map[string]policy.CategoryRules{"otp": {Exempt: true}}
	})
}

// The workers were down over an evening: nothing goes out in the quiet hours, and
// then all does, in order, as the rules allow. What is exempt goes at once.
func TestQuietHoursAfterAnOutageOverTheEvening(t *testing.T) {
	tell(t, func(s *story) {
		s.nights()
		code := s.message("code", 21*time.Hour+30*time.Minute)
		code.Category = "otp"
		s.accepted(s.message("a", 20*time.Hour), s.message("b", 21*time.Hour), s.message("c", 21*time.Hour+40*time.Minute), code)
		s.accepted(s.message("morning", 32*time.Hour+30*time.Second))
		s.until(23 * time.Hour)
		s.workWhereDue(36 * time.Hour)
		deliveries := s.recorder.Deliveries()
		require.Equal(s, "code", deliveries[0].Notification.ID)
		require.Less(s, deliveries[0].At.Sub(s.at(23*time.Hour)), time.Second)
		s.inOrder("code", "morning", "a", "b", "c")
		for _, d := range deliveries[1:] {
			require.False(s, d.At.Before(s.at(32*time.Hour)), "%s at %s", d.Notification.ID, d.At)
		}
		require.Equal(s, s.at(32*time.Hour+90*time.Second), deliveries[2].At.Truncate(time.Millisecond).UTC(), "behind what is on time")
		require.Equal(s, "late: quiet hours were in the way", s.status("a").Reason)
	})
}

// A provider is down in the evening: a retry that would be in the quiet hours waits
// for the morning, and one of what is exempt does not.
func TestQuietHoursForRetries(t *testing.T) {
	tell(t, func(s *story) {
		s.nights()
		const ten = 22 * time.Hour
		s.until(ten - 10*time.Second)
		stop := s.work(func(o *tasks.WorkerOptions) {
			o.Retries = retry.Policy{Min: 14 * time.Second, Max: time.Minute, Attempts: 5}
		})
		s.always(unavailable())
		code := s.message("code", ten-6*time.Second)
		code.User, code.Category = "bob", "otp"
		s.accepted(s.message("a", ten-5*time.Second), code)
		s.until(ten - 2*time.Second)
		require.Len(s, s.recorder.Deliveries(), 2)
		s.always(notifier.Result{Status: notifier.Delivered})
		s.until(ten + 12*time.Second)
		s.inOrder("code", "a", "code")
		status := s.status("a")
		require.Equal(s, message.StatusPostponed, status.Status)
		require.Equal(s, "late: quiet hours were in the way", status.Reason)
		require.Equal(s, s.at(32*time.Hour), status.SendAt.Time)
		listed, err := s.List(s.Context(), sendlimit.ListRequest{User: "alice"})
		require.NoError(s, err)
		require.Equal(s, status.Reason, message.ListedOf(listed[0]).Reason)
		stop()
		s.workWhereDue(33 * time.Hour)
		s.inOrder("code", "a", "code", "a")
	})
}

// Categories wait for their own rules, and not for each other.
func TestLateMessagesOfCategories(t *testing.T) {
	tell(t, func(s *story) {
		s.policy(func(p *policy.Policy) {
			p.Rules = rulesOf(s, "100/hour")
			p.Categories = map[string]policy.CategoryRules{"marketing": {Rules: rulesOf(s, "1/hour")}}
		})
		for i, id := range []string{"m1", "m2", "a"} {
			m := s.message(id, time.Duration(i+1)*time.Hour)
			if id != "a" {
				m.Category = "marketing"
			}
			s.accepted(m)
		}
		s.until(5 * time.Hour)
		s.workWhereDue(7 * time.Hour)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 3)
		require.Equal(s, "m2", deliveries[2].Notification.ID)
		require.GreaterOrEqual(s, deliveries[2].At.Sub(s.at(6*time.Hour)), time.Duration(0))
		require.Less(s, deliveries[1].At.Sub(s.at(5*time.Hour)), time.Second)
		why, late := s.status("m2").Late()
		require.True(s, late)
		require.Equal(s, "marketing 1/hour was in the way", why)
	})
}

// What was accepted before the rules changed goes out as it was promised.
func TestPromisesOutliveAChangeOfThePolicy(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", 5*time.Second), s.message("b", 10*time.Second), s.message("c", 15*time.Second))
		s.work()
		s.until(6 * time.Second)
		s.policy(func(p *policy.Policy) {
			p.Rules, p.QuietHours = rulesOf(s, "1/calendar_day"), quiet(s, "00:00-12:00")
		})
		s.set("alice", policy.UserSettings{Blocked: true})
		s.until(16 * time.Second)
		s.delivered("a +5s", "b +10s", "c +15s")
	}, "1/5s")
}

// A dead letter is revived for when it may go out, if it may.
func TestRevivedForAfterTheQuietHours(t *testing.T) {
	tell(t, func(s *story) {
		s.nights()
		s.always(notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone})
		s.accepted(s.message("a", 22*time.Hour-2*time.Second))
		s.workWhereDue(22*time.Hour + time.Minute)
		dead := s.deadLetters()
		require.Len(s, s.listed(dead), 1)
		s.set("alice", policy.UserSettings{Blocked: true})
		o, err := dead.Retry(s.Context(), "alice", "a")
		require.NoError(s, err)
		require.Equal(s, message.Refused, o.Outcome)
		require.Equal(s, fault.CodeBlocked, o.Code)
		require.Equal(s, "alice is blocked: nothing is accepted for this user until the block is lifted", o.Detail)
		s.set("alice", policy.UserSettings{})
		o, err = dead.Retry(s.Context(), "alice", "a")
		require.NoError(s, err)
		require.Equal(s, message.Retried, o.Outcome, "%+v", o)
		require.Equal(s, s.at(32*time.Hour), o.SendAt.Time)
	})
}
