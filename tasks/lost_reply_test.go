package tasks_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// losesReplies is a client hook: the store does what a script is to do, and the
// client hears nothing of it while the hook says so.
type losesReplies struct {
	script *redis.Script
	lost   atomic.Int32
	loses  func() bool
}

func (l *losesReplies) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (l *losesReplies) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *losesReplies) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); err == nil && len(args) > 1 && args[1] == l.script.Hash() && l.loses() {
			l.lost.Add(1)
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	}
}

// losing makes s's clients made from now on lose the replies of a script.
func (s *story) losing(script *redis.Script, loses func() bool) *losesReplies {
	s.Helper()
	require.NoError(s, script.Load(s.Context(), s.client).Err()) // so that it is called by its hash
	l := &losesReplies{script: script, loses: loses}
	s.hook = l
	return l
}

// once says true the first time.
func once() func() bool {
	var said atomic.Bool
	return func() bool { return !said.Swap(true) }
}

// The claim took effect: the same delivery goes on with it, in no time.
func TestAClaimWithoutAReplyDeliversOnce(t *testing.T) {
	tellSlowly(t, func(s *story) {
		lost := s.losing(lua.Claim, once())
		s.work()
		s.accepted(s.message("a", 5*time.Second))
		s.until(6 * time.Second)
		require.EqualValues(s, 1, lost.lost.Load())
		s.delivered("a +5.5s")
		require.Equal(s, 1, s.recorder.Deliveries()[0].Notification.Attempt)
		s.ended("alice", "a", "d")
	})
}

// No reply came for so long that the claim's lease may be over before the
// delivery is: the message is given back, since nothing was sent, and claimed
// anew. With skip it is not lost, as one whose worker died would be.
func TestClaimWithoutAReplyForLong(t *testing.T) {
	t.Parallel()
	for _, uncertain := range []deliver.OnUncertain{deliver.ResendUncertain, deliver.SkipUncertain} {
		t.Run(string(uncertain), func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				s.losing(lua.Claim, func() bool { return time.Since(s.began) < 12*time.Second })
				s.work(func(o *tasks.WorkerOptions) { o.PushTimeout, o.OnUncertain = 5*time.Second, uncertain })
				s.accepted(s.message("a", 5*time.Second))
				s.until(12 * time.Second)
				s.delivered()
				s.until(14 * time.Second)
				require.Len(s, s.recorder.Deliveries(), 1, "sooner than the lease of 5 + 10 seconds ends")
				s.ended("alice", "a", "d")
				s.until(40 * time.Second)
				require.Len(s, s.recorder.Deliveries(), 1)
			})
		})
	}
}

// The claim took effect in time, and its reply came when the message was late by
// more than the tolerance: the rules are judged again before it goes out.
func TestClaimWithoutAReplyUntilItIsLate(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.losing(lua.Claim, func() bool { return time.Since(s.began) < 9*time.Second })
		s.work()
		s.accepted(s.message("a", 5*time.Second), s.message("b", 15*time.Second))
		s.until(14 * time.Second)
		s.delivered()
		s.until(30 * time.Second)
		s.delivered("b +15s", "a +25s")
		s.ended("alice", "a", "d")
		require.Equal(s, []string{"b", "a"}, s.places())
	}, "1/10s")
}

// The settlement took effect: telling it again is harmless.
func TestASettlementWithoutAReplyIsRepeated(t *testing.T) {
	tellSlowly(t, func(s *story) {
		lost := s.losing(lua.Settle, once())
		s.recorder.Script(unavailable())
		s.work(retrying(3))
		s.accepted(s.message("a", 5*time.Second))
		s.until(10 * time.Second)
		require.EqualValues(s, 1, lost.lost.Load())
		require.Len(s, s.recorder.Deliveries(), 2)
		s.ended("alice", "a", "d")
		require.Zero(s, s.queued())
	})
}

// A submit, a cancel and a move took effect. Who asks again
// finds that they did.
func TestSubmitCancelAndMoveWithoutAReply(t *testing.T) {
	tellSlowly(t, func(s *story) {
		var away *fault.UnavailableError
		again := func(script *redis.Script, ask func(*submit.Submitter) (message.Outcome, error)) message.Outcome {
			s.Helper()
			s.losing(script, once())
			submitter, err := submit.New(taskstest.Open(t, s.newClient(), s.shared), submit.Options{})
			require.NoError(s, err)
			defer func() { require.NoError(s, submitter.Close()) }()
			_, err = ask(submitter)
			require.ErrorAs(s, err, &away)
			require.Contains(s, away.Detail, "asking again with the same id is safe")
			o, err := ask(submitter)
			require.NoError(s, err)
			return o
		}
		o := again(lua.Reserve, func(submitter *submit.Submitter) (message.Outcome, error) {
			return submitter.Submit(s.Context(), s.message("a", 10*time.Second))
		})
		require.Equal(s, message.Accepted, o.Outcome)
		require.True(s, o.Replayed)
		require.Equal(s, []string{"a"}, s.places())
		require.Equal(s, 1, s.queued(), "the second call handed it over")
		require.Len(s, s.watched("alice"), 1)

		o = again(lua.Move, func(submitter *submit.Submitter) (message.Outcome, error) {
			return submitter.Move(s.Context(), "alice", "a", s.at(20*time.Second))
		})
		require.Equal(s, message.Moved, o.Outcome)
		require.Equal(s, s.at(20*time.Second), o.SendAt.Time)
		require.Len(s, s.watched("alice"), 1)

		o = again(lua.Release, func(submitter *submit.Submitter) (message.Outcome, error) {
			return submitter.Cancel(s.Context(), "alice", "a")
		})
		require.Equal(s, message.Cancelled, o.Outcome)
		require.True(s, o.Replayed)
		require.Empty(s, s.watched("alice"))
	})
}
