package tasks_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// withoutQueue is a client hook: while it is away, the queue takes no task, and the rest of
// the store answers.
type withoutQueue struct{ away atomic.Bool }

func (*withoutQueue) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*withoutQueue) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (q *withoutQueue) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); q.away.Load() && len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "asynq:") {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

// submitterWithoutQueue returns a submitter that puts nothing into the queue, until the
// returned hook is told that the queue is back.
func (s *story) submitterWithoutQueue() (*submit.Submitter, *withoutQueue) {
	s.Helper()
	queue := new(withoutQueue)
	queue.away.Store(true)
	s.hook = queue
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
