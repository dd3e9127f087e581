package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
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
		b := taskstest.Open(s, s.client, s.shared)
		s.Submitter = s.newSubmitterOn(b, submit.Options{})
		s.accepted(s.messageOf("shop", "first", time.Hour), s.messageOf("shop", "second", 25*time.Hour))
		require.Equal(s, message.Refused, s.submit(s.messageOf("shop", "refused", time.Hour)).Outcome)
		b.FlushActivity()
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
		policies := settings.NewPolicies(s.client, keyspace.KeysUnder(""))
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

// The numbers of each day add up: what was accepted and retried is what ended, and what
// came to wait. What waits is counted in the store at each end of a day. In the history,
// messages are moved across days, cancelled, erased, expired, retried as dead letters, and
// left uncertain.
func TestEachDayOfTheReportAddsUp(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 2) {
		random := rand.New(rand.NewPCG(seed, 0))
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			tellSlowly(t, func(s *story) { s.reportedDays(random, seed) }, "1000/calendar_day")
		})
	}
}

const reportedUsers, reportedDays = 6, 3

func (s *story) reportedDays(random *rand.Rand, seed uint64) {
	s.Helper()
	s.account(accounts.Account{Name: "shop"})
	s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
		switch random.IntN(6) {
		case 0:
			return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: errors.New("no")}
		case 1:
			return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: errors.New("slow")}
		default:
			return notifier.Result{Status: notifier.Delivered}
		}
	})
	b := taskstest.Open(s, s.client, s.shared)
	s.Submitter = s.newSubmitterOn(b, submit.Options{})
	letters, err := deadletters.New(b)
	require.NoError(s, err)
	defer letters.Close()
	users, err := userdata.New(b)
	require.NoError(s, err)

	ids := map[string][]string{}
	user := func() string { return fmt.Sprintf("user-%d", random.IntN(reportedUsers)) }
	someID := func(of string) string {
		if len(ids[of]) == 0 {
			return "none"
		}
		return ids[of][random.IntN(len(ids[of]))]
	}
	waited, kinds := int64(0), activity.Counts{}
	for day := range reportedDays {
		midnight := time.Duration(day+1) * 24 * time.Hour
		s.until(midnight - 9*time.Minute)
		stop := s.work(retrying(2))
		for range 40 {
			u := user()
			switch random.IntN(8) {
			default:
				m := s.message(fmt.Sprintf("m-%d", random.Int64()), 0)
				m.User, m.Account = u, "shop"
				// Today, tomorrow, or so soon that it expires while no worker runs.
				m.SendAt = time.Now().Add(time.Duration(1+random.IntN(240)) * time.Second).UTC()
				if random.IntN(3) == 0 {
					m.SendAt = m.SendAt.Add(23*time.Hour + 50*time.Minute)
				}
				if random.IntN(3) == 0 {
					m.ExpiresAt = m.SendAt.Add(time.Minute)
				}
				if s.submit(m).Outcome == message.Accepted {
					ids[u] = append(ids[u], m.ID)
				}
			case 3:
				_, err := s.Cancel(s.Context(), u, someID(u))
				require.NoError(s, err)
			case 4, 5:
				_, err := s.Move(s.Context(), u, someID(u), time.Now().Add(time.Duration(random.IntN(30))*time.Hour).UTC())
				require.NoError(s, err)
			case 6:
				_, err := letters.Retry(s.Context(), u, someID(u))
				require.NoError(s, err)
			case 7:
				if random.IntN(6) == 0 {
					_, err := users.Erase(s.Context(), u, 0, nil)
					require.NoError(s, err)
					ids[u] = nil
				}
			}
			time.Sleep(time.Duration(random.IntN(12)) * time.Second)
		}
		// Deliveries and counts come to their end before the day does.
		s.until(midnight - time.Second)
		stop()
		waits := s.waiting("shop")
		b.FlushActivity()
		days, err := b.Activity.Days(s.Context(), "shop", s.at(midnight-24*time.Hour))
		require.NoError(s, err)
		read := days[0]
		require.Equal(s, waits-waited, read.WaitingChange(), "seed %d, day %d: %+v", seed, day, read)
		waited = waits
		kinds = activity.Sum(read, activity.Span{Counts: kinds})
	}
	for _, n := range []int64{kinds.Delivered, activity.Total(kinds.Failed), kinds.Cancelled} {
		require.Positive(s, n, "%+v", kinds)
	}
	s.Logf("seed %d: %+v", seed, kinds)
}

// waiting counts an account's messages in the store that are not at their end.
func (s *story) waiting(account string) int64 {
	s.Helper()
	keys := s.keys()
	n := int64(0)
	for _, key := range s.server.Keys() {
		for i := range reportedUsers {
			if !strings.HasPrefix(key, keys.RecordPrefix(fmt.Sprintf("user-%d", i))) {
				continue
			}
			state := s.server.HGet(key, "s")
			if charged, _, _ := strings.Cut(s.server.HGet(key, "y"), " "); (state == "" || state == "s") && charged == account {
				n++
			}
		}
	}
	return n
}
