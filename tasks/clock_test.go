package tasks_test

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// storeAhead sets the store's clock ahead of that of everybody else: of
// submitters, workers, and the queue within them. Scripts see it too.
func (s *story) storeAhead(by time.Duration) {
	s.server.Server().SetPreHook(redistest.Ahead(func() time.Duration { return by }))
}

// The machines' clocks are up to an hour off the store's, whichever way.
// Everything happens by the store's: nothing goes out early or late, and the rules hold on
// what is recorded. The queue has only the machines' clocks.
func TestTheStoresClockDecidesOnEverything(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	const overdueAfter = 10 * time.Second
	for name, row := range map[string]struct {
		storeAhead, latest time.Duration
	}{
		"behind by part of 1 s": {700 * time.Millisecond, 10 * time.Millisecond},
		"ahead by an hour":      {-time.Hour - 400*time.Millisecond, 10 * time.Millisecond},
		"behind by an hour":     {time.Hour + 400*time.Millisecond, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				s.storeAhead(row.storeAhead)
				s.shared.OverdueAfter = overdueAfter
				s.Submitter = s.newSubmitter(submit.Options{})
				stop := s.work(retrying(3))
				s.work(retrying(3), relaying)
				s.recorder.Script(unavailable(), unavailable())
				at := func(after time.Duration) time.Time { return s.at(after + row.storeAhead).Truncate(time.Millisecond) }
				submit := func(id string, after time.Duration) {
					s.Helper()
					m := s.message(id, 0)
					m.SendAt = at(after)
					s.accepted(m)
				}
				// The first is tried three times. Others are moved, lost by the queue,
				// and asked for as soon as possible.
				submit("retried", 10*time.Second)
				submit("moved", time.Minute)
				submit("lost", 50*time.Second+500*time.Millisecond)
				for i := range 20 {
					m := s.message("m", 0)
					m.User, m.SendAt = strconv.Itoa(i), at(20*time.Second+time.Duration(i)*777*time.Millisecond)
					s.accepted(m)
				}
				s.until(25 * time.Second)
				o, err := s.Move(s.Context(), "alice", "moved", at(40*time.Second))
				require.NoError(s, err)
				require.Equal(s, message.Moved, o.Outcome)
				s.until(45 * time.Second)
				require.Equal(s, 1, s.loseTasks(), "that of the time before the move is gone")
				m := s.message("now", 0)
				m.User, m.SendAt, m.Now = "bob", time.Time{}, true
				o = s.submit(m)
				require.Equal(s, message.Accepted, o.Outcome)
				require.Equal(s, at(45*time.Second), o.SendAt.Time, "now is the store's now")
				s.until(48 * time.Second)
				stop()
				s.until(80 * time.Second)

				deliveries := s.recorder.Deliveries()
				require.Len(s, deliveries, 26)
				for _, d := range deliveries {
					n := d.Notification
					late := d.At.Add(row.storeAhead).Sub(n.SendAt)
					require.GreaterOrEqual(s, late, time.Duration(0), "%s: early", n.ID)
					switch {
					case n.ID == "lost": // the relay looks when it is overdue
						require.GreaterOrEqual(s, late, overdueAfter)
						require.Less(s, late, overdueAfter+6*time.Second+row.latest)
					case n.ID == "now": // it takes its way through the queue
						require.Less(s, late, row.latest+350*time.Millisecond)
					case n.Attempt > 1:
						require.Less(s, late, 2*(row.latest+2*time.Second))
					default:
						require.Less(s, late, row.latest, "%s: late", n.ID)
					}
				}
				s.ended("alice", "moved", "d")
				synctest.Wait()
				require.Empty(s, s.watched("alice"))
				require.Zero(s, s.queued())
			}, "20/minute")
		})
	}
}

// A backlog is judged by the store's clock as well: what has expired by it is
// dropped, and what is within the tolerance by it is on time.
func TestBacklogByTheStoresClock(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		const off = -3 * time.Second
		s.storeAhead(off)
		for i := range 4 {
			m := s.message(strconv.Itoa(i), 0)
			m.SendAt = s.at(off + time.Duration(i+1)*time.Minute)
			if i == 1 {
				m.ExpiresAt = s.at(off + 10*time.Minute)
			}
			s.accepted(m)
		}
		s.until(10 * time.Minute)
		s.work()
		s.until(15 * time.Minute)
		s.inOrder("0", "2", "3")
		require.Equal(s, messages.ReasonExpired, s.record("alice", "1")["w"])
		for i, d := range s.recorder.Deliveries() {
			recorded := number(s, s.record("alice", d.Notification.ID)["t"])
			late := d.At.Add(off).UnixMilli() - recorded
			require.GreaterOrEqual(s, late, int64(0))
			require.Less(s, late, int64(3100))
			if i > 0 {
				require.GreaterOrEqual(s, d.At.Sub(s.recorder.Deliveries()[i-1].At), time.Minute-sendlimit.DefaultTolerance)
			}
		}
	})
}

// A message that a submitter with a clock ahead hands over too early does not wait in a
// worker: more of them than a worker handles at a time would hold up the others.
func TestEarlyTasksDoNotFillAWorker(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		const ahead, crowd = time.Hour, 600
		s.storeAhead(-ahead)
		s.work()
		for i := range crowd {
			m := s.message("m", 5*time.Minute-ahead)
			m.User = strconv.Itoa(i)
			s.accepted(m)
		}
		m := s.message("soon", time.Minute-ahead)
		m.User = "bob"
		s.accepted(m)
		s.until(30 * time.Second)
		info, err := asynq.NewInspectorFromRedisClient(s.client).GetQueueInfo(queue.Name(""))
		require.NoError(s, err)
		require.Zero(s, info.Active+info.Pending, "they wait in the queue")
		s.until(time.Minute + 100*time.Millisecond)
		s.delivered("soon +1m0s")
		s.until(6 * time.Minute)
		sent := s.sentAt()
		require.Len(s, sent, crowd+1)
		require.GreaterOrEqual(s, sent[1], 5*time.Minute)
		require.Less(s, sent[crowd], 5*time.Minute+time.Second)
		require.Zero(s, s.queued())
	})
}

// A task that runs for long is in the hands of its worker, also for workers whose clock is
// far off the store's: none takes it away.
func TestLeasesOfTheQueueGoByTheStoresClock(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				s.storeAhead(off)
				s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
					time.Sleep(3 * time.Minute)
					return notifier.Result{Status: notifier.Delivered}
				})
				s.work(func(o *tasks.WorkerOptions) {
					o.PushTimeout, o.ShutdownTimeout = 10*time.Minute, 20*time.Minute
				})
				s.accepted(s.message("long", off+10*time.Second))
				s.until(2 * time.Minute)
				leases, err := s.client.ZRangeWithScores(s.Context(), "asynq:{"+queue.Name("")+"}:lease", 0, -1).Result()
				require.NoError(s, err)
				require.Len(s, leases, 1)
				left := time.Unix(int64(leases[0].Score), 0).Sub(s.at(off + 2*time.Minute))
				require.Greater(s, left, 15*time.Second)
				require.LessOrEqual(s, left, 31*time.Second)
				s.until(4 * time.Minute)
				require.Len(s, s.recorder.Deliveries(), 1)
				require.Zero(s, s.queued())
			})
		})
	}
}

func number(tb testing.TB, text string) int64 {
	tb.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(tb, err)
	return n
}

// While the store's clock is ahead by a step, nothing is dropped as expired, sent early,
// forgotten or accepted, also if nobody can ask for the time. Once it is back, everything goes on.
func TestAStepOfTheStoresClockIsWaitedOut(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		noTime := &noTime{}
		s.hook = redistest.Commands(noTime.onCommand)
		s.work(relaying)
		s.accepted(s.message("before", 30*time.Second))
		s.accepted(s.message("soon", 2*time.Minute))
		s.accepted(s.message("later", 10*time.Minute))
		s.until(time.Minute)
		s.inOrder("before")

		noTime.away.Store(true)
		s.storeAhead(30 * time.Hour)
		s.until(time.Minute + 5*time.Second)
		_, err := s.Submit(s.Context(), s.message("refused", 20*time.Minute))
		requireStepped(s, err)
		_, err = s.Move(s.Context(), "alice", "later", s.at(15*time.Minute))
		requireStepped(s, err)
		s.until(3 * time.Minute)
		noTime.away.Store(false)
		s.inOrder("before")

		s.storeAhead(0)
		s.until(3*time.Minute + 5*time.Second)
		s.inOrder("before", "soon")
		near := s.message("near", 10*time.Minute+30*time.Second)
		require.Equal(s, message.Refused, s.submit(near).Outcome, "the places are as before")
		s.until(11 * time.Minute)
		s.inOrder("before", "soon", "later")
		s.ended("alice", "later", "d")
	})
}

// noTime is a client hook: while it is away, nobody can ask for the time.
type noTime struct{ away atomic.Bool }

func (n *noTime) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if cmd.Name() == "time" && n.away.Load() {
		return io.EOF
	}
	return next(ctx, cmd)
}

// A clock that has stood for a while after a step is right: it may have been wrong before.
func TestAStepOfTheStoresClockIsAcceptedInTheEnd(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.work(relaying)
		s.accepted(s.message("a", time.Hour+10*time.Minute))
		s.until(time.Minute)
		s.storeAhead(time.Hour)
		for _, at := range []time.Duration{time.Minute + 5*time.Second, 6 * time.Minute} {
			s.until(at)
			_, err := s.Submit(s.Context(), s.message("b", 4*time.Hour))
			requireStepped(s, err)
		}
		s.until(6*time.Minute + 10*time.Second)
		s.accepted(s.message("b", 4*time.Hour))
		s.until(9*time.Minute + 50*time.Second)
		require.Empty(s, s.recorder.Deliveries())
		s.until(10*time.Minute + 10*time.Second)
		s.inOrder("a")
	})
}

// A notice that waits for its next try does not expire by a clock that has stepped.
func TestANoticeOutlivesAStepOfTheStoresClock(t *testing.T) {
	tell(t, func(s *story) {
		mail := announcer{answers: []notifier.Result{
			{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, RetryAfter: 30 * time.Second},
			{Status: notifier.Delivered},
		}}
		s.putReport()
		s.work(announces(&mail), sweeps(5*time.Second))
		s.until(20 * time.Second)
		require.Len(s, mail.all(), 1)

		s.storeAhead(60 * 24 * time.Hour)
		s.until(2 * time.Minute)
		require.Len(s, mail.all(), 1, "nothing is sent meanwhile")
		require.Equal(s, 1, s.waitingNotices(), "it was dropped as expired")

		s.storeAhead(0)
		s.until(3 * time.Minute)
		require.Len(s, mail.all(), 2)
		require.Zero(s, s.waitingNotices())
	})
}

func requireStepped(s *story, err error) {
	s.Helper()
	unavailable := &fault.UnavailableError{}
	require.ErrorAs(s, err, &unavailable)
	require.ErrorIs(s, err, fault.ErrClockStepped)
	require.Contains(s, err.Error(), "the clock of Redis has stepped forward by ")
}

// After a step back of the store's clock everything goes on by it, and so late. Setting it right is no
// step that is waited out, even a great one.
func TestAStepBackOfTheStoresClockIsReportedAndSetRight(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.work(relaying)
		s.accepted(s.message("before", 2*time.Minute))
		s.accepted(s.message("later", 5*time.Minute))
		require.Empty(s, s.Policies.ClockBehind())
		s.until(time.Minute)
		s.storeAhead(-time.Hour)
		s.until(3 * time.Minute)
		m := s.message("meanwhile", 7*time.Minute)
		s.accepted(m)
		require.Equal(s, "the clock of Redis has stepped back by 1h0m0s, so messages are sent late by as much: set it right",
			s.Policies.ClockBehind())
		require.Empty(s, s.recorder.Deliveries())

		s.storeAhead(0)
		s.until(3*time.Minute + 10*time.Second)
		s.inOrder("before")
		require.True(s, s.submit(m).Replayed, "nothing is waited out")
		require.Empty(s, s.Policies.ClockBehind())
		s.until(8 * time.Minute)
		s.inOrder("before", "later", "meanwhile")
	})
}
