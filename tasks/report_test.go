package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// workFor has two workers work for a while, from a time on: idle ones for days
// would make up most of a story.
func (s *story) workFor(from, span time.Duration, a *announcer) {
	s.Helper()
	s.until(from)
	stops := []func(){s.work(announces(a)), s.work(announces(a))}
	time.Sleep(span)
	for _, stop := range stops {
		stop()
	}
}

// messageOf is a message that an account sends.
func (s *story) messageOf(account, id string, after time.Duration) message.Message {
	m := s.message(id, after)
	m.Account = account
	return m
}

func TestTheDailyReportTellsOfTheDayBefore(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		var mail announcer
		s.account(accounts.Account{Name: "shop", Contact: "ops@example.com", ReportAt: "08:00"})
		s.accepted(s.messageOf("shop", "first", time.Hour), s.messageOf("shop", "second", 25*time.Hour))
		require.Equal(s, message.Refused, s.submit(s.messageOf("shop", "refused", time.Hour)).Outcome)
		s.workFor(59*time.Minute, 2*time.Minute, &mail)
		s.workFor(25*time.Hour-time.Minute, 2*time.Minute, &mail)
		s.workFor(32*time.Hour-2*time.Minute, 5*time.Minute, &mail)
		all := mail.all()
		require.Len(s, all, 1, "none of the days before the account was made")
		require.Equal(s, "2000-01-01", all[0].notice.Day)
		require.Equal(s, "ops@example.com", all[0].to)
		require.Equal(s, &notifier.Report{Sent: 1, Accepted: 2, WaitingChange: 1, Refused: map[string]int64{"1/minute": 1}}, all[0].notice.Report)
		require.WithinRange(s, all[0].at, s.at(32*time.Hour), s.at(32*time.Hour+3*time.Minute))
		s.workFor(56*time.Hour, 2*time.Minute, &mail)
		require.Len(s, mail.all(), 2)
		require.Equal(s, &notifier.Report{Sent: 1, WaitingChange: -1}, mail.all()[1].notice.Report, "the other one, on its day")
	})
}

func TestADailyReportOutlastsWorkersThatAreDown(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, test := range []struct {
		from time.Duration
		day  string
	}{
		{32*time.Hour + 23*time.Hour, "2000-01-01"},
		{32*time.Hour + 25*time.Hour, "2000-01-02"}, // the next is due, and nobody wants the one before
	} {
		t.Run(test.day, func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				var mail announcer
				s.account(accounts.Account{Name: "shop", Contact: "ops@example.com", ReportAt: "08:00"})
				s.workFor(test.from, 3*time.Minute, &mail)
				s.workFor(test.from+10*time.Minute, 3*time.Minute, &mail)
				require.Len(s, mail.all(), 1)
				require.Equal(s, test.day, mail.all()[0].notice.Day)
			})
		})
	}
}

func TestUsersAreGatheredIntoOneMailAnHour(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		var mail announcer
		policies, err := settings.NewPolicies(s.client, "")
		require.NoError(s, err)
		policy, err := policy.Parse(policy.DefaultName, "Asia/Kolkata", "2/calendar_day")
		require.NoError(s, err)
		policy.AlertTo, policy.AlertAt = "ops@example.com", []int{50, 100}
		require.NoError(s, policies.Apply(s.Context(), policy))
		time.Sleep(2 * time.Second) // the submitter has the rules
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		other := s.message("c", time.Hour)
		other.User = "bob/2"
		s.accepted(other)
		s.workFor(57*time.Minute, 3*time.Minute, &mail)
		require.Empty(s, mail.all(), "the hour is not over")
		s.workFor(61*time.Minute, 3*time.Minute, &mail)
		s.workFor(121*time.Minute, 3*time.Minute, &mail)
		all := mail.all()
		require.Len(s, all, 1)
		require.Equal(s, "ops@example.com", all[0].to)
		require.Equal(s, notifier.NoticeUserQuotaDigest, all[0].notice.Kind)
		require.Equal(s, []notifier.UserQuota{
			{User: "alice", Threshold: 100, Used: 2, Limit: 2, Day: "2000-01-01"},
			{User: "bob/2", Threshold: 50, Used: 1, Limit: 2, Day: "2000-01-01"},
		}, all[0].notice.Users)
	})
}

// What a provider refuses for good ended unsent, too.
func TestTheDailyReportCountsWhatFailed(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		var mail announcer
		s.account(accounts.Account{Name: "acme", Contact: "ops@example.com", ReportAt: "08:00"})
		s.accepted(s.messageOf("acme", "gone", time.Hour))
		s.recorder.Script(notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone})
		s.workFor(59*time.Minute, 2*time.Minute, &mail)
		s.workFor(32*time.Hour, 3*time.Minute, &mail)
		require.Len(s, mail.all(), 1)
		require.Equal(s, &notifier.Report{Accepted: 1, Failed: 1}, mail.all()[0].notice.Report)
	})
}
