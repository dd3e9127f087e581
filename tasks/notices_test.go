package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// announcer writes down what it is told to announce, and answers as told: the
// last answer from then on. Without answers everything is delivered.
type announcer struct {
	mu      sync.Mutex
	answers []notifier.Result
	said    []said
	during  func() // is called once, while it announces
}

type said struct {
	to     string
	notice notifier.Notice
	at     time.Time
}

func (a *announcer) Announce(_ context.Context, to string, n notifier.Notice) notifier.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, said{to, n, time.Now()})
	if during := a.during; during != nil {
		a.during = nil
		during()
	}
	if len(a.answers) == 0 {
		return notifier.Result{Status: notifier.Delivered, ProviderID: "mail"}
	}
	answer := a.answers[0]
	if len(a.answers) > 1 {
		a.answers = a.answers[1:]
	}
	return answer
}

func (a *announcer) all() []said {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.said)
}

// announces is a worker's option.
func announces(a *announcer) func(*tasks.WorkerOptions) {
	return func(o *tasks.WorkerOptions) { o.Announcer = a }
}

func sweeps(every time.Duration) func(*tasks.WorkerOptions) {
	return func(o *tasks.WorkerOptions) { o.SweepEvery = every }
}

func (s *story) notices() *notices.Outbox {
	s.Helper()
	notices, err := notices.New(s.client, notices.Options{})
	require.NoError(s, err)
	return notices
}

// putReport puts a report about the account shop, which has a contact, into the
// outbox, and tells no queue of it.
func (s *story) putReport() (id string) {
	s.Helper()
	s.account(accounts.Account{Name: "shop", Contact: "ops@example.com"})
	id = notices.FormatID(notices.DailyReport, s.began, 0, "shop")
	put, err := s.notices().Put(s.Context(), notices.Notice{ID: id, Details: []byte(`{"report":{"delivered":7}}`)}, time.Time{})
	require.NoError(s, err)
	require.True(s, put)
	return id
}

func (s *story) account(a accounts.Account) {
	s.Helper()
	accounts := accounts.New(s.client, keyspace.KeysUnder(""))
	_, err := accounts.Create(s.Context(), a)
	require.NoError(s, err)
}

func (s *story) contactOf(user, contact string) {
	s.Helper()
	settings := settings.NewUsers(s.client, keyspace.KeysUnder(""))
	require.NoError(s, settings.Set(s.Context(), user, policy.UserSettings{Contact: contact}))
}

func (s *story) deadNotices() []notices.Dead {
	s.Helper()
	dead, err := s.notices().ListDead(s.Context(), notices.Dead{}, 0)
	require.NoError(s, err)
	return dead
}

// waitingNotices is how many notices have not ended.
func (s *story) waitingNotices() int {
	s.Helper()
	due, _, err := s.notices().Due(s.Context(), time.Now().AddDate(10, 0, 0), 100)
	require.NoError(s, err)
	return len(due)
}

func TestAnAlertOfAUserIsDeliveredAtOnce(t *testing.T) {
	tell(t, func(s *story) {
		var mail announcer
		s.contactOf("alice", "alice@example.com")
		s.work(announces(&mail))
		for i := range 5 {
			s.accepted(s.message(strconv.Itoa(i), time.Duration(i+1)*time.Hour))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		all := mail.all()
		require.Len(s, all, 2)
		require.Equal(s, said{"alice@example.com", notifier.Notice{
			ID: "user_quota/946684800000/80/alice", Kind: notifier.NoticeUserQuota, Subject: "alice",
			Threshold: 80, Used: 4, Limit: 5, Day: "2000-01-01", TimeZone: "UTC", Rule: "5/calendar_day", Policy: "default",
		}, all[0].at}, all[0])
		require.Equal(s, 100, all[1].notice.Threshold)
		require.Zero(s, s.waitingNotices())
	}, "5/calendar_day")
}

func TestANoticeThatTheQueueNeverGotIsFound(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		var mail announcer
		id := s.putReport()
		s.work(announces(&mail), sweeps(time.Minute))
		time.Sleep(2 * time.Minute)
		require.Len(s, mail.all(), 1)
		require.Equal(s, id, mail.all()[0].notice.ID)
		require.Equal(s, &notifier.Report{Sent: 7, WaitingChange: -7}, mail.all()[0].notice.Report)
		time.Sleep(3 * time.Minute)
		require.Len(s, mail.all(), 1)
	})
}

// Submitter, relay and two workers have tasks of the same notice.
func TestOneOfManyTasksDeliversANotice(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		var mail announcer
		s.enqueueAlerts(s.putReport(), 20)
		s.work(announces(&mail), sweeps(20*time.Second))
		s.work(announces(&mail), sweeps(20*time.Second))
		time.Sleep(3 * time.Minute)
		require.Len(s, mail.all(), 1)
		require.Zero(s, s.waitingNotices())
	})
}

// enqueueAlerts hands the queue so many tasks of a notice, or of what may be one.
func (s *story) enqueueAlerts(id string, count int) {
	s.Helper()
	payload, err := json.Marshal(queue.AlertPayload{Version: 1, Notice: id})
	require.NoError(s, err)
	s.enqueuePayloads(payload, count)
}

func (s *story) enqueuePayloads(payload []byte, count int) {
	s.Helper()
	for range count {
		_, err := asynq.NewClientFromRedisClient(s.client).Enqueue(asynq.NewTask(queue.TypeAlert, payload), asynq.Queue(queue.Name("")))
		require.NoError(s, err)
	}
}

func TestANoticeIsTriedAgain(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		mail := announcer{answers: []notifier.Result{
			{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: errors.New("421")},
			{Status: notifier.Retry, Reason: notifier.ReasonRateLimited, RetryAfter: 3 * time.Minute, Err: errors.New("451")},
			{Status: notifier.Delivered},
		}}
		s.putReport()
		s.work(announces(&mail), sweeps(time.Minute))
		time.Sleep(6 * time.Minute)
		all := mail.all()
		require.Len(s, all, 3)
		require.GreaterOrEqual(s, all[1].at.Sub(all[0].at), 2500*time.Millisecond)
		require.Less(s, all[1].at.Sub(all[0].at), 8*time.Second)
		require.GreaterOrEqual(s, all[2].at.Sub(all[1].at), 3*time.Minute-time.Millisecond, "as long as the server asked for, to the millisecond")
		require.Less(s, all[2].at.Sub(all[1].at), 3*time.Minute+3*time.Second)
		require.Equal(s, all[0].notice, all[2].notice)
	})
}

func TestANoticeThatFailsForGoodIsADeadLetter(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]notifier.Result{
		"at once":             {Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: errors.New("550")},
		"after the last try ": {Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: errors.New("421")},
	} {
		t.Run(name, func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				mail := announcer{answers: []notifier.Result{answer}}
				id := s.putReport()
				s.work(announces(&mail), sweeps(time.Minute), func(o *tasks.WorkerOptions) {
					o.Retries.Attempts = 1 // of pushes
					o.Retries.Min, o.Retries.Max = time.Second, time.Second
					o.AlertRetries = retry.Span{Min: time.Second, Max: 10 * time.Second, For: 30 * time.Second}
				})
				time.Sleep(3 * time.Minute)
				tries := len(mail.all())
				if answer.Status == notifier.Retry {
					require.GreaterOrEqual(s, tries, 5)
					require.WithinDuration(s, mail.all()[0].at.Add(30*time.Second), mail.all()[tries-1].at, 6*time.Second)
				} else {
					require.Equal(s, 1, tries)
				}
				dead := s.deadNotices()
				require.Len(s, dead, 1)
				require.Equal(s, id, dead[0].ID)
				require.Equal(s, tries, dead[0].Attempts)
				require.Equal(s, string(answer.Reason), dead[0].Reason)

				mail.answers = nil
				again, err := s.notices().RetryDead(s.Context(), id, keyspace.NewToken(), time.Time{})
				require.NoError(s, err)
				require.True(s, again)
				time.Sleep(2 * time.Minute)
				require.Len(s, mail.all(), tries+1)
				require.Empty(s, s.deadNotices())
			})
		})
	}
}

func TestANoticeWaitsForSomethingToAnnounceItBy(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.enqueueAlerts(s.putReport(), 1)
		stop := s.work(sweeps(time.Minute))
		time.Sleep(3 * time.Minute)
		stop()
		require.Equal(s, 1, s.waitingNotices())

		mail := announcer{answers: []notifier.Result{
			{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: notifier.ErrNoChannel}, {Status: notifier.Delivered},
		}}
		s.work(announces(&mail), sweeps(time.Minute), func(o *tasks.WorkerOptions) {
			o.AlertRetries = retry.Span{Min: time.Second, Max: time.Second, For: time.Second}
		})
		time.Sleep(16 * time.Minute)
		require.Len(s, mail.all(), 2, "no channel is no try")
		require.Zero(s, s.waitingNotices())
		require.Empty(s, s.deadNotices())
	})
}

func TestANoticeThatWaitedTooLongIsForgotten(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.putReport()
		for _, test := range []struct {
			after   time.Duration
			waiting int
		}{{notices.MinKeep - time.Hour, 1}, {notices.MinKeep + time.Hour, 0}} {
			s.until(test.after)
			s.shared.KeepRecords = time.Hour
			stop := s.work(sweeps(time.Minute))
			time.Sleep(2 * time.Minute)
			stop()
			require.Equal(s, test.waiting, s.waitingNotices())
		}
		require.Empty(s, s.deadNotices())
	})
}

func TestANoticeForNobodyIsDropped(t *testing.T) {
	tellSlowly(t, func(s *story) {
		var mail announcer
		id := notices.FormatID(notices.UserQuota, s.began, 80, "bob")
		_, err := s.notices().Put(s.Context(), notices.Notice{ID: id}, time.Time{})
		require.NoError(s, err)
		digest := notices.FormatID(notices.UserQuotaDigest, s.began, 0, "default")
		_, err = s.notices().Put(s.Context(), notices.Notice{ID: digest}, time.Time{})
		require.NoError(s, err)
		s.work(announces(&mail), sweeps(time.Minute))
		time.Sleep(2 * time.Minute)
		require.Empty(s, mail.all())
		require.Zero(s, s.waitingNotices())
		require.Empty(s, s.deadNotices())
	})
}

func TestTasksThatAreNoAlerts(t *testing.T) {
	tell(t, func(s *story) {
		var mail announcer
		s.enqueueAlerts("nothing", 1)
		s.enqueueAlerts(notices.FormatID(notices.DailyReport, s.began, 0, "unknown"), 1)
		s.enqueuePayloads([]byte("{"), 1)
		s.enqueuePayloads([]byte(`{"notice":"x"}`), 1)
		s.enqueuePayloads([]byte(`{"v":2,"letter":"of a newer program"}`), 1)
		s.work(announces(&mail))
		time.Sleep(time.Minute)
		require.Empty(s, mail.all())
		sizes, err := queue.Sizes(s.Context(), s.client, "")
		require.NoError(s, err)
		total := 0
		for _, size := range sizes {
			total += size
		}
		require.Equal(s, 1, total, "the newer program's task waits for it: %v", sizes)
	})
}

// What took effect and whose answer got lost is answered as the first time.
func TestANoticeWithoutAReplyIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]*lua.Script{"claim": lua.NoticeClaim, "settle": lua.NoticeSettle} {
		t.Run(name, func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				var mail announcer
				s.putReport()
				lost := s.losing(script, once())
				s.enqueueAlerts(notices.FormatID(notices.DailyReport, s.began, 0, "shop"), 3)
				s.work(announces(&mail), sweeps(time.Minute))
				time.Sleep(3 * time.Minute)
				require.EqualValues(s, 1, lost.lost.Load())
				require.Len(s, mail.all(), 1)
				require.Zero(s, s.waitingNotices())
			})
		})
	}
}

func TestTheStoreGoesAwayWithANoticeInHand(t *testing.T) {
	tellSlowly(t, func(s *story) {
		mail := announcer{during: func() {
			s.network.cut()
			time.AfterFunc(8*time.Second, s.network.mend)
		}}
		s.putReport()
		s.work(announces(&mail), sweeps(time.Minute))
		time.Sleep(3 * time.Minute)
		require.Len(s, mail.all(), 1)
		require.Zero(s, s.waitingNotices())
	})
}
