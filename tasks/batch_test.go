package tasks_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// batch submits messages to as many users for three minutes from now, a millisecond apart,
// and lets workers hand them over together. The first is for user-0.
func (s *story) batch(users int) {
	s.Helper()
	s.horizon(time.Minute)
	for i := range users {
		m := s.toUser(i, 3*time.Minute+time.Duration(i)*time.Millisecond)
		s.accepted(m)
	}
}

// toUser is a message "m" to user-i.
func (s *story) toUser(i int, after time.Duration) message.Message {
	m := s.message("m", after)
	m.User = fmt.Sprint("user-", i)
	return m
}

// tasks counts the tasks in the queue, of one message or several.
func (s *story) tasks() int {
	s.Helper()
	synctest.Wait()
	info, err := asynq.NewInspectorFromRedisClient(s.client).GetQueueInfo(queue.Name(""))
	require.NoError(s, err)
	return info.Size
}

// arrivals are when users' messages reached the provider, since the story began.
func (s *story) arrivals() map[string][]time.Duration {
	s.Helper()
	found := make(map[string][]time.Duration)
	for _, d := range s.recorder.Deliveries() {
		found[d.Notification.User] = append(found[d.Notification.User], d.At.Sub(s.began).Truncate(time.Millisecond))
	}
	return found
}

// Messages that are due together share a task, and each goes out at its own millisecond.
// What was cancelled or moved meanwhile does not go out with them.
func TestMessagesThatAreDueTogetherShareATask(t *testing.T) {
	tell(t, func(s *story) {
		const users = 50
		s.batch(users)
		s.until(2*time.Minute + time.Second)
		s.work(relaying)
		s.until(2*time.Minute + 10*time.Second)
		require.Equal(s, users, s.queued())
		require.Equal(s, 2, s.tasks(), "32 messages in a task")

		_, err := s.Cancel(s.Context(), "user-3", "m")
		require.NoError(s, err)
		_, err = s.Move(s.Context(), "user-4", "m", s.at(4*time.Minute))
		require.NoError(s, err)
		s.until(5 * time.Minute)
		want := make(map[string][]time.Duration)
		for i := range users {
			want[fmt.Sprint("user-", i)] = []time.Duration{3*time.Minute + time.Duration(i)*time.Millisecond}
		}
		delete(want, "user-3")
		want["user-4"] = []time.Duration{4 * time.Minute}
		require.Equal(s, want, s.arrivals())
		require.Zero(s, s.tasks())
	})
}

// A delivery that hangs holds up none that shares its task, and the task is done.
func TestAStuckDeliveryHoldsUpNoOtherOfItsTask(t *testing.T) {
	tell(t, func(s *story) {
		hang := make(chan struct{})
		s.recorder.AnswerWith(func(_ context.Context, n notifier.Notification) notifier.Result {
			if n.User == "user-0" {
				<-hang
			}
			return notifier.Result{Status: notifier.Delivered}
		})
		s.batch(10)
		s.until(2*time.Minute + time.Second)
		stop := s.work(func(o *tasks.WorkerOptions) {
			o.RelayEvery, o.PushTimeout, o.ShutdownTimeout = time.Hour, time.Hour, 2*time.Hour
		})
		s.until(3*time.Minute + time.Second)
		require.Len(s, s.arrivals(), 10)
		require.Zero(s, s.tasks(), "the lease guards what is being sent")
		require.Equal(s, "s", s.record("user-0", "m")["s"])
		for i := 1; i < 10; i++ {
			s.ended(fmt.Sprint("user-", i), "m", "d")
		}

		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		time.Sleep(time.Minute)
		select {
		case <-stopped:
			require.Fail(s, "the worker did not wait for a delivery")
		default:
		}
		close(hang)
		<-stopped
		s.ended("user-0", "m", "d")
	})
}

// A notifier that panics ends no worker, and no other delivery of the batch. The message is
// tried again like that of a worker that died.
func TestAPanicInABatchIsOneDeliverys(t *testing.T) {
	tell(t, func(s *story) {
		var calls atomic.Int32
		s.recorder.AnswerWith(func(_ context.Context, n notifier.Notification) notifier.Result {
			if n.User == "user-0" && calls.Add(1) == 1 {
				panic("a fault of the notifier")
			}
			return notifier.Result{Status: notifier.Delivered}
		})
		s.batch(10)
		s.until(2*time.Minute + time.Second)
		s.work(relaying)
		s.until(3*time.Minute + time.Second)
		for i := 1; i < 10; i++ {
			s.ended(fmt.Sprint("user-", i), "m", "d")
		}
		s.until(6 * time.Minute)
		s.ended("user-0", "m", "d")
		require.Len(s, s.recorder.Deliveries(), 11)
	})
}

// A worker that stops while a batch waits leaves it to another one, also if some of it was
// sent by then.
func TestABatchOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Duration{
		"before": 3*time.Minute - 300*time.Millisecond, "in the middle": 3*time.Minute + 15*time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				s.batch(30)
				s.until(2*time.Minute + time.Second)
				stop := s.work(relaying)
				s.until(at)
				stop()
				s.work(relaying)
				s.until(4 * time.Minute)
				require.Len(s, s.arrivals(), 30)
				require.Len(s, s.recorder.Deliveries(), 30, "each once")
				for user, at := range s.arrivals() {
					require.Less(s, at[0], 3*time.Minute+time.Second, user)
				}
				require.Zero(s, s.tasks())
			})
		})
	}
}

// The queue loses a batch: its messages are found like any other. One that waits for a
// worker is not lost.
func TestALostBatchIsFound(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.batch(10)
		s.until(2*time.Minute + time.Second)
		stop := s.work(relaying)
		s.until(2*time.Minute + 30*time.Second)
		require.Equal(s, 1, s.tasks())
		stop()

		s.until(6 * time.Minute) // no worker fetched it
		q, err := queue.New(s.client, "", 0, queue.Polling{})
		require.NoError(s, err)
		work, err := q.Workload(s.Context())
		require.NoError(s, err)
		generation := s.record("user-0", "m")["g"]
		has, err := q.Has(s.Context(), "user-0", generation, work)
		require.NoError(s, err)
		require.True(s, has)
		has, err = q.Has(s.Context(), "user-0", "another", work)
		require.NoError(s, err)
		require.False(s, has)

		require.Equal(s, 1, s.loseTasks())
		s.work(relaying)
		s.until(8 * time.Minute)
		require.Len(s, s.arrivals(), 10)
		require.Len(s, s.recorder.Deliveries(), 10)
	})
}

// A batch under a pace does not go out faster than the pace, and a raised pace wakes it.
func TestABatchWaitsForThePace(t *testing.T) {
	tell(t, func(s *story) {
		s.pace("1/second", 0)
		s.batch(30)
		s.until(2*time.Minute + time.Second)
		s.work(relaying)
		s.until(3*time.Minute + 10*time.Second)
		require.InDelta(s, 10, len(s.recorder.Deliveries()), 2)
		require.LessOrEqual(s, most(s.sentAt(), 990*time.Millisecond), 1)
		s.pace("1000/second", 0)
		s.until(3*time.Minute + 15*time.Second)
		require.Len(s, s.recorder.Deliveries(), 30)
		require.Len(s, s.arrivals(), 30, "each once")
		require.Zero(s, s.tasks())
	})
}

// To erase a user takes nothing from those whose messages share a task with the user's.
func TestEraseAUserOfABatch(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.batch(5)
		s.accepted(s.toAlice("a", 3*time.Minute))
		s.until(2*time.Minute + time.Second)
		stop := s.work(relaying)
		s.until(2*time.Minute + 10*time.Second)
		stop()
		require.Equal(s, 1, s.tasks())
		found, err := s.users().Export(s.Context(), "alice", nil)
		require.NoError(s, err)
		require.Len(s, found.Tasks, 1)
		require.Equal(s, "a", found.Tasks[0].ID)
		require.Equal(s, s.record("alice", "a")["g"], found.Tasks[0].Generation)
		require.Equal(s, s.at(3*time.Minute), found.Tasks[0].Due.Time)

		e := s.eraseAlice()
		require.Equal(s, 1, e.Tasks)
		s.nothingLeft()
		require.Equal(s, 5, s.queued())
		s.work(relaying)
		s.until(4 * time.Minute)
		require.Len(s, s.arrivals(), 5)
		s.nothingLeft()
	})
}

// Messages of a batch that wait for an older late one of their users, or for their rules,
// come again without the others.
func TestABusyMessageOfABatchComesAgain(t *testing.T) {
	tell(t, func(s *story) {
		s.horizon(time.Minute)
		for i := range 5 {
			first, second := s.toUser(i, 3*time.Minute), s.toUser(i, 3*time.Minute+40*time.Millisecond)
			second.ID = "n"
			s.accepted(first, second)
		}
		s.until(2*time.Minute + time.Second)
		stop := s.work(relaying)
		s.until(2*time.Minute + 10*time.Second)
		require.Equal(s, 1, s.tasks())
		stop()
		s.until(10 * time.Minute) // all of them are late
		s.work(relaying)
		s.until(12 * time.Minute)
		for i := range 5 {
			at := s.arrivals()[fmt.Sprint("user-", i)]
			require.Len(s, at, 2)
			require.GreaterOrEqual(s, at[1]-at[0], 0*time.Second)
			s.ended(fmt.Sprint("user-", i), "m", "d")
			s.ended(fmt.Sprint("user-", i), "n", "d")
		}
		require.Zero(s, s.tasks())
	}, "2/minute")
}
