package tasks_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// activityOf reads what became of messages up to now.
func (s *story) activityOf(b *backend.Backend) activity.Counts {
	s.Helper()
	minutes, err := b.Activity.Minutes(s.Context(), s.began, time.Now().Add(time.Minute))
	require.NoError(s, err)
	hours, err := b.Activity.Hours(s.Context(), s.began, time.Now().Add(time.Hour))
	require.NoError(s, err)
	sum := activity.Sum(hours...)
	require.Equal(s, activity.Sum(minutes...), sum)
	return sum
}

// What submitters and workers do with messages is counted, and readable a second later.
func TestWhatBecomesOfMessagesIsCounted(t *testing.T) {
	tell(t, func(s *story) {
		b := taskstest.Open(s, s.client, s.shared)
		submitter := s.newSubmitterOn(b, submit.Options{})
		s.Submitter = submitter
		s.accepted(s.message("sent", 10*time.Second), s.message("gone", 2*time.Minute), s.message("cancelled", 4*time.Minute))
		require.True(s, s.submit(s.message("sent", 10*time.Second)).Replayed)
		require.Equal(s, message.Refused, s.submit(s.message("b", 11*time.Second)).Outcome)
		reused := s.message("sent", 20*time.Minute)
		require.Equal(s, message.Refused, s.submit(reused).Outcome)
		require.Equal(s, message.Invalid, s.submit(message.Message{User: "alice"}).Outcome)
		expires := s.message("late", 6*time.Minute)
		expires.ExpiresAt = s.at(7 * time.Minute)
		s.accepted(expires)
		s.cancelled("cancelled")
		o, err := s.Cancel(s.Context(), "alice", "cancelled")
		require.NoError(s, err)
		require.NotEqual(s, message.Invalid, o.Outcome, "a second cancel counts nothing")
		stop := s.work()
		s.until(time.Minute)
		s.recorder.Script(notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone})
		s.until(3 * time.Minute)
		stop()
		s.until(10 * time.Minute)
		s.work()
		s.until(11 * time.Minute)
		require.NoError(s, submitter.Close())

		got := s.activityOf(b)
		lateness, ok := got.Lateness.Quantile(1)
		require.True(s, ok)
		require.Less(s, lateness, 10*time.Millisecond)
		got.Lateness = activity.Lateness{}
		require.Equal(s, activity.Counts{
			Accepted: 4, Delivered: 1, Cancelled: 1,
			Refused: map[string]int64{"1/minute": 1, "id_reused": 1},
			Dropped: map[string]int64{"expired": 1},
			Failed:  map[string]int64{"gone": 1},
		}, got)
	})
}

// A late message counts as late, after it was postponed or not.
func TestLateMessagesAreCounted(t *testing.T) {
	tell(t, func(s *story) {
		b := taskstest.Open(s, s.client, s.shared)
		s.accepted(s.message("a", time.Minute), s.message("b", 2*time.Minute))
		s.until(5 * time.Minute)
		s.work()
		s.until(7 * time.Minute)
		got := s.activityOf(b) // while the worker runs
		require.EqualValues(s, 2, got.Delivered)
		require.EqualValues(s, 2, got.Late)
		require.EqualValues(s, 1, got.Postponed)
		require.EqualValues(s, 2, got.Lateness.Count())
		earliest, _ := got.Lateness.Quantile(0)
		require.Greater(s, earliest, 2*time.Minute)
	})
}

// What may or may not have arrived is a failure once it is given up.
func TestUncertainMessagesAreCountedAsFailed(t *testing.T) {
	tell(t, func(s *story) {
		b := taskstest.Open(s, s.client, s.shared)
		s.accepted(s.message("a", time.Minute))
		s.recorder.Script(notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: errors.New("no answer")})
		stop := s.work(func(o *tasks.WorkerOptions) {
			o.Retries, o.OnUncertain = retry.Policy{Min: time.Second, Max: time.Second, Attempts: 1}, "skip"
		})
		s.until(2 * time.Minute)
		stop()
		require.Equal(s, activity.Counts{Failed: map[string]int64{"uncertain": 1}}, s.activityOf(b))
	})
}

// What operators cancel is counted, too: a campaign, and a user's messages.
func TestMessagesThatOperatorsCancelAreCounted(t *testing.T) {
	tell(t, func(s *story) {
		b := taskstest.Open(s, s.client, s.shared)
		submitter := s.newSubmitterOn(b, submit.Options{})
		for i, user := range []string{"alice", "bob", "carol"} {
			m := s.message("m", time.Hour)
			m.User = user
			if i < 2 {
				m.Campaign = "spring"
			}
			o, err := submitter.Submit(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, message.Accepted, o.Outcome)
		}
		_, err := s.campaigns().Cancel(s.Context(), submitter, campaign.Campaign{Name: "spring"}, campaign.Watcher{})
		require.NoError(s, err)
		users, err := userdata.New(b)
		require.NoError(s, err)
		erased, err := users.Erase(s.Context(), "carol", time.Second, nil)
		require.NoError(s, err)
		require.Equal(s, 1, erased.Cancelled)
		require.NoError(s, submitter.Close())
		require.Equal(s, activity.Counts{Accepted: 3, Cancelled: 3}, s.activityOf(b))
	})
}

// What is counted of all is counted of the account, too, on its day: also a dead letter that is
// sent again, and a user's messages that are erased.
func TestWhatBecomesOfAnAccountsMessagesIsCounted(t *testing.T) {
	tell(t, func(s *story) {
		b := taskstest.Open(s, s.client, s.shared)
		s.Submitter = s.newSubmitterOn(b, submit.Options{})
		s.account(accounts.Account{Name: "shop", TimeZone: "Asia/Kolkata"})
		s.accepted(s.messageOf("shop", "a", 10*time.Second), s.messageOf("shop", "b", 2*time.Minute), s.messageOf("shop", "c", time.Hour), s.messageOf("shop", "d", 2*time.Hour))
		require.Equal(s, message.Refused, s.submit(s.messageOf("shop", "e", time.Hour)).Outcome)
		s.recorder.Script(gone())
		stop := s.workOn(b)
		s.until(3 * time.Minute)
		stop()
		letters, err := deadletters.New(b)
		require.NoError(s, err)
		for range 2 { // the second one is replayed, or refused
			_, err = letters.Retry(s.Context(), "alice", "a")
			require.NoError(s, err)
		}
		letters.Close()
		s.cancelled("c")
		users, err := userdata.New(b)
		require.NoError(s, err)
		_, err = users.Erase(s.Context(), "alice", time.Second, nil)
		require.NoError(s, err)

		want := activity.Counts{
			Accepted: 4, Delivered: 1, Cancelled: 3, Retried: 1,
			Refused: map[string]int64{"1/minute": 1}, Failed: map[string]int64{"gone": 1},
		}
		kolkata, err := calendar.ParseTimeZone("Asia/Kolkata")
		require.NoError(s, err)
		days, err := b.Activity.Days(s.Context(), "shop", time.Date(2000, 1, 1, 0, 0, 0, 0, kolkata))
		require.NoError(s, err)
		require.Equal(s, want, days[0].Counts)
		require.Zero(s, days[0].WaitingChange())
		all := s.activityOf(b)
		all.Lateness = activity.Lateness{}
		require.Equal(s, want, all)
	})
}

// An account that can't be read has days of UTC.
func TestAnAccountThatCantBeReadIsCounted(t *testing.T) {
	tell(t, func(s *story) {
		b := taskstest.Open(s, s.client, s.shared)
		s.server.HSet(s.keys().Accounts(), "shop", "{")
		b.Activity.Cancelled("shop", s.began)
		require.NoError(s, b.Activity.Flush(s.Context()))
		days, err := b.Activity.Days(s.Context(), "shop", s.began)
		require.NoError(s, err)
		require.Equal(s, activity.Counts{Cancelled: 1}, days[0].Counts)
	})
}

// Programs that look share a forecast, and each of them may count next.
func TestAForecastIsShared(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", 30*time.Minute), s.message("b", 3*time.Hour))
		first, second := taskstest.Open(s, s.client, s.shared), taskstest.Open(s, s.client, s.shared)
		defer first.Forecasts.Close()
		defer second.Forecasts.Close()
		_, ok, err := second.Forecasts.Latest(s.Context())
		require.NoError(s, err)
		require.False(s, ok, "nobody has looked")
		latest, ok, err := first.Forecasts.Look(s.Context(), time.Time{})
		require.NoError(s, err)
		require.True(s, ok)
		require.Equal(s, 2, latest.Pending)
		require.Equal(s, 1, latest.Minutes[30])
		require.Equal(s, 1, latest.Hours[3])
		s.cancelled("a")
		shared, _, err := second.Forecasts.Look(s.Context(), time.Time{})
		require.NoError(s, err)
		require.Equal(s, latest, shared)
		s.server.FastForward(10 * time.Second) // keys of the embedded store expire by no clock
		s.until(10 * time.Second)
		latest, _, err = second.Forecasts.Look(s.Context(), time.Time{})
		require.NoError(s, err)
		require.Equal(s, 1, latest.Pending)
	})
}

// A worker is listed with what it does.
func TestServersOfTheQueue(t *testing.T) {
	tell(t, func(s *story) {
		servers, err := queue.Servers(s.client, "")
		require.NoError(s, err)
		require.Empty(s, servers)
		stop := s.work()
		s.until(10 * time.Second)
		servers, err = queue.Servers(s.client, "")
		require.NoError(s, err)
		require.Len(s, servers, 1)
		require.NotEmpty(s, servers[0].Host)
		require.Positive(s, servers[0].PID)
		require.Equal(s, "active", servers[0].Status)
		require.WithinRange(s, servers[0].Started, s.at(0), s.at(time.Second))
		require.Zero(s, servers[0].Active)
		other, err := queue.Servers(s.client, "other")
		require.NoError(s, err)
		require.Empty(s, other)
		stop()
	})
}
