package tasks_test

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// waits notes what the store was asked to wait for, and on which connection
// what was done before.
type waits struct {
	mu    sync.Mutex
	last  map[*server.Peer]string // the commands before
	asked []string                // "commands before: WAIT and its arguments"
	have  int                     // replicas there are
}

func (s *story) waits(have int) *waits {
	w := &waits{last: map[*server.Peer]string{}, have: have}
	s.server.Server().SetPreHook(func(peer *server.Peer, command string, args ...string) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch command {
		case "WAIT":
		case "SET": // of the mark
			w.last[peer] += ", SET"
			return false
		default:
			w.last[peer] = command
			return false
		}
		w.asked = append(w.asked, w.last[peer]+": "+args[0]+" "+args[1])
		peer.WriteInt(w.have)
		return true
	})
	return w
}

// taken are the waits since it was asked last.
func (w *waits) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	return asked
}

// Submits, moves and cancels that hold are waited for, on the connection of
// their script, also when they are asked for again; what changes nothing is not.
func TestReplicasAreWaitedFor(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]bool{"one by one": false, "in batches": true} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				w := s.waits(2)
				s.Submitter = s.newSubmitter(submit.Options{WaitReplicas: 2, WaitReplicasTimeout: 300 * time.Millisecond, Batch: batch})
				s.accepted(s.message("first", 30*time.Minute)) // and the script is there from now on
				require.Len(s, w.taken(), 1)

				waited := []string{"EVALSHA, SET: 2 300"}
				s.accepted(s.message("a", time.Hour))
				require.Equal(s, waited, w.taken())
				require.True(s, s.submit(s.message("a", time.Hour)).Replayed)
				require.Equal(s, waited, w.taken())
				require.Equal(s, message.Refused, s.submit(s.message("b", time.Hour)).Outcome)
				require.Equal(s, message.Invalid, s.submit(message.Message{}).Outcome)
				_, err := s.Check(s.Context(), s.message("b", 2*time.Hour))
				require.NoError(s, err)
				require.Empty(s, w.taken())
				s.moved("a", 2*time.Hour)
				s.moved("a", 3*time.Hour)
				s.cancelled("a")
				s.cancelled("a")
				require.Len(s, w.taken(), 4)
				o, err := s.Cancel(s.Context(), "alice", "nothing")
				require.NoError(s, err)
				require.Equal(s, fault.CodeNotFound, o.Code)
				require.Empty(s, w.taken())
				body, shift := "new", message.Move{At: s.at(30 * time.Minute), OnConflict: message.OnConflictShift}
				s.accepted(s.message("b", 31*time.Minute))
				require.Equal(s, waited, w.taken())
				require.Equal(s, s.at(31*time.Minute), s.edited("b", message.Patch{Move: &shift, Edit: message.Edit{Body: &body}}).SendAt.Time)
				require.Equal(s, waited, w.taken(), "for the change where it is")
				s.cancelled("b")
				time.Sleep(time.Second) // tasks are deleted in the background, in batches after a moment
				require.Equal(s, 1, s.queued(), "a message that was moved and cancelled leaves no task behind")
			})
		})
	}
}

// Without enough of them there is no answer but that it may have been done. It
// has been, and goes out at its time.
func TestTooFewReplicas(t *testing.T) {
	tell(t, func(s *story) {
		w := s.waits(1)
		s.Submitter = s.newSubmitter(submit.Options{WaitReplicas: 2})
		s.work()
		for range 2 { // asking again waits again
			_, err := s.Submit(s.Context(), s.message("a", 10*time.Second))
			s.away(err, fault.CodeUnavailable)
			require.Equal(s, "Redis has it on 1 of 2 replicas after 1s (wait_replicas):"+
				" the request may have been carried out, and it is safe to send it again with the same id", message.OutcomeOf(err).Detail)
		}
		_, err := s.Move(s.Context(), "alice", "a", s.at(20*time.Second))
		s.away(err, fault.CodeUnavailable)
		require.Len(s, w.taken(), 3)
		s.until(30 * time.Second)
		s.delivered("a +20s")

		_, err = s.Submit(s.Context(), s.message("b", 2*time.Hour))
		s.away(err, fault.CodeUnavailable)
		_, err = s.Cancel(s.Context(), "alice", "b")
		s.away(err, fault.CodeUnavailable)
		require.Equal(s, "c", s.record("alice", "b")["s"])
	})
}

// The client library repeats nothing on a connection that was lent out: one
// that broke meanwhile is not the caller's concern.
func TestReplicasAreWaitedForOnAnotherConnection(t *testing.T) {
	tell(t, func(s *story) {
		w := s.waits(1)
		s.Submitter = s.newSubmitter(submit.Options{WaitReplicas: 1})
		s.accepted(s.message("a", time.Hour))
		s.network.cut()
		s.network.mend()
		s.accepted(s.message("b", 2*time.Hour))
		require.Len(s, w.taken(), 2)

		s.network.cut()
		_, err := s.Submit(s.Context(), s.message("c", 3*time.Hour))
		s.away(err, fault.CodeUnavailable)
		require.Contains(s, message.OutcomeOf(err).Detail, "no Redis")
	})
}

func TestReplicasCannotBeWaitedFor(t *testing.T) {
	tell(t, func(s *story) {
		s.server.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
			if command == "WAIT" {
				peer.WriteError("NOPERM this user has no permissions to run the 'wait' command")
			}
			return command == "WAIT"
		})
		s.Submitter = s.newSubmitter(submit.Options{WaitReplicas: 1})
		_, err := s.Submit(s.Context(), s.message("a", time.Hour))
		s.away(err, fault.CodeUnavailable)
		require.Contains(s, message.OutcomeOf(err).Detail, "Redis does not let this user run WAIT")

		for sentence, o := range map[string]submit.Options{
			`wait_replicas "-1" is not allowed: use 0 to 10`:                {WaitReplicas: -1},
			`wait_replicas "11" is not allowed: use 0 to 10`:                {WaitReplicas: 11},
			`wait_replicas_timeout "1ns" is not allowed: use at least 1 ms`: {WaitReplicasTimeout: 1},
			`wait_replicas_timeout "-1s" is not allowed: use at least 1 ms`: {WaitReplicasTimeout: -time.Second},
		} {
			_, err := submit.New(taskstest.Open(s, s.client, s.shared), o)
			refuses(s.T, err, sentence)
		}
		ring := redis.NewRing(&redis.RingOptions{})
		defer ring.Close()
		_, err = submit.New(taskstest.Open(t, ring, backend.Options{}), submit.Options{WaitReplicas: 1})
		refuses(s.T, err, `wait_replicas "1" is not allowed: use 0 with a *redis.Ring, which lends out no connection`)
	})
}

// The reply to a submit without an id gets lost with its connection: trying
// again is the same submit, and not another one.
func TestASubmitTriedOnAnotherConnectionIsTheSame(t *testing.T) {
	tell(t, func(s *story) {
		s.waits(1)
		lost := s.losing(lua.Reserve, once())
		submitter, err := submit.New(taskstest.Open(s, s.newClient(), s.shared), submit.Options{WaitReplicas: 1})
		require.NoError(s, err)
		s.Cleanup(func() { require.NoError(s, submitter.Close()) })
		m := s.message("", 30*time.Minute)
		m.Title = "text"
		o, err := submitter.Submit(s.Context(), m)
		require.NoError(s, err)
		require.EqualValues(s, 1, lost.lost.Load())
		require.Equal(s, message.Accepted, o.Outcome, "%+v", o)
		require.Equal(s, []string{o.ID}, s.places())
		require.Equal(s, 1, s.queued())
	}, "5/hour")
}

// losesReplies is a client hook: the store does what a script is to do, and the
// client hears nothing of it while the hook says so.
type losesReplies struct {
	script *lua.Script
	lost   atomic.Int32
	loses  func() bool
}

func (l *losesReplies) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	err := next(ctx, cmd)
	if args := cmd.Args(); err == nil && len(args) > 1 && args[1] == l.script.Hash() && l.loses() {
		l.lost.Add(1)
		cmd.SetErr(io.EOF)
		return io.EOF
	}
	return err
}

// losing makes s's clients made from now on lose the replies of a script.
func (s *story) losing(script *lua.Script, loses func() bool) *losesReplies {
	s.Helper()
	require.NoError(s, script.Load(s.Context(), s.client).Err()) // so that it is called by its hash
	l := &losesReplies{script: script, loses: loses}
	s.hook = redistest.Commands(l.onCommand)
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
