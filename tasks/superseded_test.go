package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// deletesNoTask is a client hook that fails the first command of a task's deletion.
func deletesNoTask(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if cmd.Name() == "sismember" {
		err := errors.New("not now")
		cmd.SetErr(err)
		return err
	}
	return next(ctx, cmd)
}

// keepSuperseded gives the story a submitter that cannot delete the tasks of superseded
// generations, so that they fire.
func (s *story) keepSuperseded() {
	s.Helper()
	client := s.newClient()
	client.AddHook(redistest.Commands(deletesNoTask))
	s.Submitter = s.newSubmitterOn(taskstest.Open(s, client, s.shared), submit.Options{})
}

// A message has one task, however often it is moved, and none after a cancel.
func TestSupersededTasksAreDeleted(t *testing.T) {
	tell(t, func(s *story) {
		const day = 24 * time.Hour
		s.accepted(s.message("a", 300*day), s.message("b", 301*day), s.message("c", 302*day))
		require.Equal(s, 3, s.queued())
		for i := range 5 {
			s.moved("a", 303*day+time.Duration(i)*time.Hour)
		}
		require.Equal(s, 3, s.queued())
		s.moved("a", 303*day+4*time.Hour)
		require.Equal(s, 3, s.queued(), "a move that changes nothing keeps the task")
		s.cancelled("b")
		s.cancelled("b")
		require.Equal(s, 2, s.queued())
		for i := range 600 { // many at once, more than one batch
			m := s.message(fmt.Sprint("m", i), 100*day+time.Duration(i)*time.Second)
			s.accepted(m)
		}
		for i := range 600 {
			s.cancelled(fmt.Sprint("m", i))
		}
		require.Equal(s, 2, s.queued())
		s.moved("c", 10*time.Second)
		s.work()
		s.until(20 * time.Second)
		s.delivered("c +10s")
		require.Equal(s, 1, s.queued(), "that of a")
	}, "100/1s")
}

// The task of a retry is deleted too. It is due later than the message.
func TestSupersededTaskOfARetry(t *testing.T) {
	tell(t, func(s *story) {
		stop := s.work(func(o *tasks.WorkerOptions) { o.Retries = retry.Policy{Min: time.Minute, Max: time.Hour, Attempts: 3} })
		s.recorder.Script(unavailable())
		s.accepted(s.message("a", 10*time.Second))
		s.until(10*time.Second + 100*time.Millisecond)
		stop()
		require.Equal(s, 1, s.queued(), "the retry")
		s.cancelled("a")
		require.Zero(s, s.queued())
	})
}

// If the queue does not delete a task, the answer is the same, and the task ends unsent.
func TestSupersededTaskThatStaysDoesNoHarm(t *testing.T) {
	tell(t, func(s *story) {
		s.keepSuperseded()
		s.accepted(s.message("a", 20*time.Second), s.message("b", 40*time.Second))
		s.moved("a", 30*time.Second)
		s.cancelled("b")
		require.Equal(s, 3, s.queued())
		s.work()
		s.until(time.Minute)
		s.delivered("a +30s")
		require.Zero(s, s.queued())
	}, "100/minute")
}

// Closing a submitter deletes what is still to be deleted.
func TestSupersededTasksAreDeletedOnClose(t *testing.T) {
	tell(t, func(s *story) {
		other := s.newSubmitter(submit.Options{Batch: true})
		s.accepted(s.message("a", time.Hour))
		o, err := other.Cancel(s.Context(), "alice", "a")
		require.NoError(s, err)
		require.Equal(s, message.Cancelled, o.Outcome)
		require.NoError(s, other.Close())
		require.Zero(s, s.queued())
		synctest.Wait()
	})
}

// withoutQueue is a client hook: while it is away, the queue takes no task, and the rest of
// the store answers.
type withoutQueue struct{ away atomic.Bool }

func (q *withoutQueue) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if args := cmd.Args(); q.away.Load() && len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "asynq:") {
		cmd.SetErr(io.EOF)
		return io.EOF
	}
	return next(ctx, cmd)
}

// submitterWithoutQueue returns a submitter that puts nothing into the queue, until the
// returned hook is told that the queue is back.
func (s *story) submitterWithoutQueue() (*submit.Submitter, *withoutQueue) {
	s.Helper()
	queue := new(withoutQueue)
	queue.away.Store(true)
	s.hook = redistest.Commands(queue.onCommand)
	client := s.newClient()
	s.hook = nil
	return s.newSubmitterOn(taskstest.Open(s, client, s.shared), submit.Options{}), queue
}

// The queue is away for a few seconds after an accept, as in a failover. The message is on
// time: it does not wait until the relay looks after it, ten seconds after the accept.
func TestATimerThatCouldNotBeSetIsSetAgain(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work(relaying)
		submitter, queue := s.submitterWithoutQueue()
		o, err := submitter.Submit(s.Context(), s.message("a", 8*time.Second))
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome)
		s.until(3 * time.Second)
		require.Zero(s, s.queued())
		queue.away.Store(false)
		s.until(4 * time.Second)
		require.Equal(s, 1, s.queued())
		s.until(9 * time.Second)
		s.delivered("a +8s")
		s.ended("alice", "a", "d")
	})
}

// The process ends between the accept and the queue. Its caller got no answer and submits
// the message again, through another process: the message is on time.
func TestASubmitThatIsRepeatedSetsTheTimer(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work(relaying)
		submitter, _ := s.submitterWithoutQueue()
		o, err := submitter.Submit(s.Context(), s.message("a", 8*time.Second))
		require.NoError(s, err)
		require.False(s, o.Replayed)
		require.NoError(s, submitter.Close())
		require.Zero(s, s.queued())
		s.until(time.Second)
		require.True(s, s.submit(s.message("a", 8*time.Second)).Replayed)
		require.Equal(s, 1, s.queued())
		s.until(9 * time.Second)
		s.delivered("a +8s")
		s.ended("alice", "a", "d")

		require.True(s, s.submit(s.message("a", 8*time.Second)).Replayed)
		require.Zero(s, s.queued(), "what has ended needs no timer")
	})
}
