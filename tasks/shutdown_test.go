package tasks_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
)

// crowd submits a message to each of n users, all within a span that begins at
// five seconds, and returns when each is due.
func (s *story) crowd(n int, span time.Duration) map[string]time.Time {
	s.Helper()
	due := make(map[string]time.Time, n)
	for i := range n {
		m := s.message("a", 5*time.Second+time.Duration(i)*span/time.Duration(n))
		m.SendAt = m.SendAt.Truncate(time.Millisecond)
		m.User = fmt.Sprintf("user-%d", i)
		s.accepted(m)
		due[m.User] = m.SendAt
	}
	return due
}

// deliveredOnce requires one delivery to each user, none early.
func (s *story) deliveredOnce(due map[string]time.Time) {
	s.Helper()
	seen := map[string]bool{}
	for _, d := range s.recorder.Deliveries() {
		user := d.Notification.User
		require.False(s, d.At.Before(due[user]), "early by %s", due[user].Sub(d.At))
		require.False(s, seen[user], "%s twice", user)
		seen[user] = true
	}
	require.Len(s, seen, len(due))
	for user := range due {
		s.ended(user, "a", "d")
	}
}

// A worker that is told to stop finishes what it has begun and gives
// the rest back to the queue. The next one delivers that, and nothing twice.
func TestAWorkerStoppedUnderLoadFinishesItsDeliveries(t *testing.T) {
	tell(t, func(s *story) {
		var running, finished atomic.Int32
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			running.Add(1)
			defer running.Add(-1)
			time.Sleep(1500 * time.Millisecond)
			finished.Add(1)
			return notifier.Result{Status: notifier.Delivered}
		})
		few := func(o *tasks.WorkerOptions) { o.Deliveries = 8 }
		stop := s.work(few)
		due := s.crowd(60, 4*time.Second)
		s.until(7 * time.Second)
		require.EqualValues(s, 8, running.Load(), "as many at a time as there are slots")

		began := time.Now()
		stop()
		require.LessOrEqual(s, time.Since(began), 1600*time.Millisecond, "it begins no more")
		require.Zero(s, running.Load())
		begun := len(s.recorder.Deliveries())
		require.EqualValues(s, begun, finished.Load(), "what was begun was finished")
		require.Less(s, begun, 20)
		require.Equal(s, len(due)-begun, s.queued(), "all else waits in the queue")

		s.until(10 * time.Second)
		require.Len(s, s.recorder.Deliveries(), begun)
		s.work(few)
		s.until(30 * time.Second)
		s.deliveredOnce(due)
		require.Zero(s, s.queued())
	})
}

// One worker after another is replaced while messages fall due; those that wait
// in its hands for the rest of their second reach the next in time.
func TestWorkersReplacedOneByOne(t *testing.T) {
	tell(t, func(s *story) {
		stop := s.work()
		due := s.crowd(200, 10*time.Second)
		for at := 5 * time.Second; at < 15*time.Second; at += 650 * time.Millisecond {
			s.until(at)
			next := s.work()
			stop()
			stop = next
		}
		s.until(20 * time.Second)
		s.deliveredOnce(due)
		require.Zero(s, s.queued())
		late := 0
		for _, d := range s.recorder.Deliveries() {
			if d.At.Sub(due[d.Notification.User]) > 400*time.Millisecond {
				late++
			}
		}
		require.Zero(s, late, "a task that is given back is looked for every 200 ms")
	})
}

// A delivery that began after an outage, for which the queue had already given
// its task up, is finished too.
func TestStoppedDuringADeliveryTheQueueGaveUp(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			time.Sleep(3 * time.Second)
			return notifier.Result{Status: notifier.Delivered}
		})
		stop := s.work()
		s.accepted(s.message("a", 10*time.Second+900*time.Millisecond))
		s.until(10*time.Second + 400*time.Millisecond) // in a handler by now
		s.network.cut()
		s.until(time.Minute) // the queue's lease was for 30 s
		s.network.mend()
		s.until(62 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
		require.Equal(s, "s", s.record("alice", "a")["s"], "it is being sent")
		stop()
		s.ended("alice", "a", "d")
		s.work()
		s.until(4 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 1)
		require.Zero(s, s.queued())
	})
}

// A message given back just before its time goes out at its time.
func TestStoppedWhileWaitingForTheMillisecond(t *testing.T) {
	tell(t, func(s *story) {
		stop := s.work()
		s.accepted(s.message("a", 10*time.Second+990*time.Millisecond))
		s.until(10*time.Second + 300*time.Millisecond) // in a handler by now
		stop()
		s.delivered()
		s.work()
		s.until(20 * time.Second)
		s.delivered("a +10.99s")
	})
}

// A delivery that does not end is not waited for longer than the shutdown time.
// Its message is sent again when its lease is over: at least once.
func TestStoppedWithADeliveryThatHangs(t *testing.T) {
	tell(t, func(s *story) {
		hang := make(chan struct{})
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			<-hang // whatever its context says
			return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout}
		})
		quick := func(o *tasks.WorkerOptions) { o.PushTimeout, o.ShutdownTimeout = 2*time.Second, 5*time.Second }
		stop := s.work(quick)
		s.accepted(s.message("a", time.Second))
		s.until(2 * time.Second)
		stop()
		require.Equal(s, 5*time.Second, time.Since(s.at(2*time.Second)).Truncate(time.Second))

		s.recorder.AnswerWith(nil)
		s.work(quick)
		s.until(12 * time.Second)
		s.delivered("a +1s")
		s.until(20 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 2)
		s.ended("alice", "a", "d")
		close(hang) // too late: another has settled it
		s.until(30 * time.Second)
		s.ended("alice", "a", "d")
		require.Zero(s, s.queued())
	})
}

// Early tasks wait outside the delivery slots: with a single slot, one that is
// due goes out in time, whatever was handed out before it.
func TestWaitingTakesNoSlot(t *testing.T) {
	tell(t, func(s *story) {
		s.work(func(o *tasks.WorkerOptions) { o.Deliveries = 1 })
		due := s.crowd(100, 3*time.Second)
		s.until(10 * time.Second)
		s.deliveredOnce(due)
		require.Zero(s, s.queued())
		for _, d := range s.recorder.Deliveries() {
			require.Less(s, d.At.Sub(due[d.Notification.User]), 5*time.Millisecond)
		}
	})
}

// A delivery has no longer than the push timeout.
func TestDeliveryTimesOut(t *testing.T) {
	tell(t, func(s *story) {
		s.recorder.AnswerWith(func(ctx context.Context, n notifier.Notification) notifier.Result {
			if n.Attempt > 1 {
				return notifier.Result{Status: notifier.Delivered}
			}
			<-ctx.Done()
			return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: ctx.Err()}
		})
		s.work(retrying(2), func(o *tasks.WorkerOptions) { o.PushTimeout = 3 * time.Second })
		s.accepted(s.message("a", 10*time.Second))
		s.until(20 * time.Second)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 2)
		require.GreaterOrEqual(s, deliveries[1].At.Sub(deliveries[0].At), 3500*time.Millisecond)
		require.LessOrEqual(s, deliveries[1].At.Sub(deliveries[0].At), 4010*time.Millisecond)
	})
}
