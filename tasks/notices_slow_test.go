package tasks_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/announce"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// slowMail is a mail server that accepts a notice and answers only after a while.
type slowMail struct {
	announcer

	takes time.Duration
	cut   atomic.Int32 // tries that were cut off
}

func (s *slowMail) Announce(ctx context.Context, to string, n notifier.Notice) notifier.Result {
	result := s.announcer.Announce(ctx, to, n)
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return result
	case <-ctx.Done():
		s.cut.Add(1)
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: ctx.Err()}
	}
}

// A mail server that takes nine minutes to accept a message gets one copy, though
// push_timeout is 10 s and other workers look after the outbox all the time.
func TestASlowMailServerGetsOneCopy(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		mail := slowMail{takes: 9 * time.Minute}
		s.putReport()
		slow := func(o *tasks.WorkerOptions) { o.Announcer = &mail }
		s.work(slow, sweeps(time.Minute))
		s.work(slow, sweeps(time.Minute))
		time.Sleep(25 * time.Minute)
		require.Len(s, mail.all(), 1)
		require.Zero(s, s.waitingNotices())
		require.Empty(s, s.deadNotices())
	})
}

// A worker that stops does not wait for minutes: it cuts off the try in time to give the
// notice back, and another worker sends it.
func TestAWorkerStopsWithinItsTimeWithASlowMailServer(t *testing.T) {
	tellSlowly(t, func(s *story) {
		mail := slowMail{takes: 9 * time.Minute}
		s.putReport()
		stop := s.work(func(o *tasks.WorkerOptions) { o.Announcer = &mail }, sweeps(time.Minute))
		time.Sleep(2 * time.Minute)
		began := time.Now()
		stop()
		require.Less(s, time.Since(began), 15*time.Second)
		require.Equal(s, 1, s.waitingNotices())
		mail.takes = 0
		s.work(func(o *tasks.WorkerOptions) { o.Announcer = &mail }, sweeps(time.Minute))
		time.Sleep(3 * time.Minute)
		require.Len(s, mail.all(), 2)
		require.Zero(s, s.waitingNotices())
	})
}

// A worker that no longer has a notice ends its try, as another one may send it.
func TestATryEndsWithItsLease(t *testing.T) {
	tellSlowly(t, func(s *story) {
		mail := slowMail{takes: 9 * time.Minute}
		id := s.putReport()
		s.work(func(o *tasks.WorkerOptions) { o.Announcer = &mail }, sweeps(time.Minute))
		time.Sleep(2 * time.Minute)
		require.Len(s, mail.all(), 1)
		require.Zero(s, mail.cut.Load())
		keys := s.keys()
		require.NoError(s, s.client.HSet(s.Context(), keys.Notice("shop", id), keyspace.NoticeState, "d").Err())
		time.Sleep(20 * time.Second)
		require.EqualValues(s, 1, mail.cut.Load())
	})
}

// stuckMail is a mail server that never answers.
type stuckMail struct{ open, most atomic.Int32 }

func (s *stuckMail) Announce(ctx context.Context, _ string, _ notifier.Notice) notifier.Result {
	now := s.open.Add(1)
	defer s.open.Add(-1)
	for most := s.most.Load(); now > most; most = s.most.Load() {
		if s.most.CompareAndSwap(most, now) {
			break
		}
	}
	<-ctx.Done()
	return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: ctx.Err()}
}

// A mail server hangs, and more mails wait for it than a worker handles tasks at a time. They
// have slots of their own, so pushes go out on time.
func TestAMailServerThatHangsHoldsUpNoPush(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		var mail stuckMail
		s.work(func(o *tasks.WorkerOptions) { o.Announcer = &mail })
		const mails = 600
		for i := range mails {
			m := s.message("alert", time.Hour)
			m.User = "user-" + strconv.Itoa(i)
			s.contactOf(m.User, m.User+"@example.com")
			s.accepted(m)
		}
		s.until(time.Second)
		require.Equal(s, mails, s.waitingNotices())
		require.EqualValues(s, announce.Together, mail.open.Load())
		var want []string
		for i := range 2 {
			after := time.Duration(3+i) * 500 * time.Millisecond
			m := s.message(strconv.Itoa(i), after)
			m.User = "pushed-" + m.ID
			s.accepted(m)
			want = append(want, m.ID+" +"+after.String())
		}
		s.until(3 * time.Second)
		s.delivered(want...)
		require.EqualValues(s, announce.Together, mail.most.Load())
	}, "1/calendar_day")
}

// A mail server that is away for two hours costs no alert: it has more time than a push.
func TestAMailOutageLosesNoAlert(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		mail := announcer{answers: []notifier.Result{
			{Status: notifier.Retry, Reason: notifier.ReasonUnreachable, Err: errors.New("connection refused")},
		}}
		s.putReport()
		attempts := func(o *tasks.WorkerOptions) {
			announces(&mail)(o)
			o.Retries = retry.Policy{Min: time.Second, Max: time.Second, Attempts: 1}
		}
		works := func(from, to time.Duration) { // a minute in ten: a worker for hours would take most of the test
			for ; from <= to; from += 10 * time.Minute {
				s.until(from)
				stop := s.work(attempts, sweeps(20*time.Second))
				time.Sleep(time.Minute)
				stop()
			}
		}
		works(0, 130*time.Minute)
		require.Empty(s, s.deadNotices())
		require.Equal(s, 1, s.waitingNotices())
		mail.mu.Lock()
		mail.answers = nil
		failed := len(mail.said)
		mail.mu.Unlock()
		require.Greater(s, failed, 8)
		require.Less(s, failed, 25)
		works(140*time.Minute, 190*time.Minute)
		require.Len(s, mail.all(), failed+1)
		require.Zero(s, s.waitingNotices())
	})
}

// A notice that a mail server took while the store was away is told once, too. The race
// detector watches one round: it makes a round take six times as much processor time.
func TestANoticeIsToldOnceAfterAnOutageOfALease(t *testing.T) {
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			if seed > 0 {
				sendlimittest.Long(t)
			}
			tell(t, func(s *story) {
				random := rand.New(rand.NewPCG(seed, 2))
				upTo := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
				const pushTimeout, lease = 3 * time.Second, 13 * time.Second
				mail := slowMail{takes: time.Second + upTo(time.Second)}
				for range 2 {
					s.work(func(o *tasks.WorkerOptions) {
						o.PushTimeout, o.SettleMargin, o.SweepEvery = pushTimeout, lease-pushTimeout, 2*time.Second
						o.Announcer = &mail
					})
				}
				s.putReport()
				for len(mail.all()) == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				s.network.cut() // before the mail server answers
				time.Sleep(lease - 2*time.Second + upTo(6*time.Second))
				s.network.mend()
				time.Sleep(30 * time.Second)
				require.Len(s, mail.all(), 1)
				require.Zero(s, s.waitingNotices())
			})
		})
	}
}
