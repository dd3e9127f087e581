package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// deletesNoTask is a client hook that fails the first command of a task's deletion.
type deletesNoTask struct{}

func (deletesNoTask) DialHook(next redis.DialHook) redis.DialHook { return next }

func (deletesNoTask) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "sismember" {
			err := errors.New("not now")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (deletesNoTask) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// keepSuperseded gives the story a submitter that cannot delete the tasks of superseded
// generations, so that they fire.
func (s *story) keepSuperseded() {
	s.Helper()
	client := s.newClient()
	client.AddHook(deletesNoTask{})
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
