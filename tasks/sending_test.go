package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// stopSending stops all sending, or starts it again.
func (s *story) stopSending() {
	s.Helper()
	_, first, err := s.states().StopSending(s.Context(), channels.SendingStop{Reason: "a test", By: "ops"})
	require.NoError(s, err)
	require.True(s, first)
}

func (s *story) startSending() {
	s.Helper()
	was, err := s.states().StartSending(s.Context())
	require.NoError(s, err)
	require.True(s, was)
}

func (s *story) states() *channels.Store { return channels.NewStore(s.client, keyspace.KeysUnder("")) }

// recordCalls counts calls that name the record of a message.
type recordCalls struct{ made atomic.Int64 }

func (c *recordCalls) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if strings.Contains(fmt.Sprint(cmd.Args()...), ":m:") {
		c.made.Add(1)
	}
	return next(ctx, cmd)
}

// While all sending is stopped, due messages wait without an attempt and without calls, also for a
// worker that starts meanwhile, and end at their expiry. Moves, settings and submits go on. Then
// the late ones go out in order, as the rules allow.
func TestAllSendingIsStoppedAndStarted(t *testing.T) {
	tellSlowly(t, func(s *story) {
		slowly := func(context.Context, notifier.Notification) notifier.Result {
			time.Sleep(5 * time.Second)
			return notifier.Result{Status: notifier.Delivered}
		}
		s.recorder.AnswerWith(slowly)
		calls := &recordCalls{}
		s.hook = redistest.Commands(calls.onCommand)
		noRelay := func(o *tasks.WorkerOptions) { o.WithoutRelay = true } // it would look after what is overdue
		dies := s.work(noRelay)
		to := func(user, id string, after time.Duration) message.Message {
			m := s.message(id, after)
			m.User = user
			return m
		}
		expiring := to("bob", "expires", 30*time.Second)
		expiring.ExpiresAt = s.at(45 * time.Second)
		s.accepted(to("zoe", "begun", 8*time.Second), expiring, to("carol", "blocked", 30*time.Second), to("dave", "moved", 30*time.Second))
		for i, id := range []string{"a", "b", "c"} {
			s.accepted(s.message(id, time.Duration(20+60*i)*time.Second))
		}
		s.until(10 * time.Second)
		s.stopSending()
		s.until(20 * time.Second)
		s.recorder.AnswerWith(nil)
		s.until(25 * time.Second)
		dies()
		s.work(noRelay)
		o, err := s.Move(s.Context(), "dave", "moved", s.at(10*time.Minute))
		require.NoError(s, err)
		require.Equal(s, message.Moved, o.Outcome)
		s.until(50 * time.Second)
		s.ended("bob", "expires", "x")
		status, _, err := s.Status(s.Context(), "bob", "expires")
		require.NoError(s, err)
		require.WithinRange(s, status.EndedAt.Time, s.at(45*time.Second), s.at(49*time.Second)) // it polls seldom
		s.setsFor("carol", policy.UserSettings{Blocked: true})
		s.accepted(to("erin", "new", time.Minute))
		require.Equal(s, message.Refused, s.submit(s.message("refused", 50*time.Second)).Outcome)

		s.until(3 * time.Minute)
		before := calls.made.Load()
		s.until(5*time.Minute - 500*time.Millisecond)
		require.Equal(s, before, calls.made.Load(), "nobody asks while messages wait")
		s.delivered("begun +8s")
		for _, id := range []string{"a", "b", "c"} {
			require.Zero(s, s.status(id).Attempts)
		}
		s.until(5 * time.Minute)
		s.startSending()
		s.until(20 * time.Minute)
		got := map[string]time.Duration{}
		for _, d := range s.recorder.Deliveries() {
			require.Equal(s, 1, d.Notification.Attempt)
			got[d.Notification.ID] = d.At.Sub(s.began)
		}
		require.Len(s, got, 6, "%v", got)
		for _, id := range []string{"a", "new"} {
			require.InDelta(s, (5 * time.Minute).Seconds(), got[id].Seconds(), 4, id)
		}
		require.GreaterOrEqual(s, got["b"]-got["a"], time.Minute-time.Millisecond)
		require.GreaterOrEqual(s, got["c"]-got["b"], time.Minute-time.Millisecond)
		require.Less(s, got["c"], 7*time.Minute+10*time.Second)
		require.Equal(s, 10*time.Minute, got["moved"].Truncate(time.Millisecond))
		require.Equal(s, "d", s.record("alice", "c")["s"])
		require.Equal(s, "blocked", s.record("carol", "blocked")["w"])
		require.Zero(s, s.queued())
	}, "1/minute")
}

// stopsIn stops all sending when a call is first answered, and delays the answer.
type stopsIn struct {
	*story

	once  sync.Once
	call  string
	takes time.Duration
}

func (c *stopsIn) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	err := next(ctx, cmds)
	for _, cmd := range cmds {
		if args := cmd.Args(); len(args) > 1 && args[1] == c.call {
			c.once.Do(func() {
				c.stopSending()
				time.Sleep(c.takes)
			})
		}
	}
	return err
}

// A message that is claimed when all sending is stopped is given back unsent, within 2 seconds also
// by a worker whose looks take long.
func TestNoCallBeginsOnceAllSendingIsStopped(t *testing.T) {
	tell(t, func(s *story) {
		require.NoError(s, lua.Claim.Load(s.Context(), s.client).Err())
		stops := &stopsIn{story: s, call: lua.Claim.Hash(), takes: 1600 * time.Millisecond}
		s.hook = redistest.Calls(stops.onCall)
		end := s.work()
		s.accepted(s.message("claimed", 5*time.Second))
		s.until(time.Minute)
		s.delivered()
		require.Zero(s, s.status("claimed").Attempts)
		s.startSending()
		s.until(time.Minute + 5*time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
		require.Equal(s, 1, s.recorder.Deliveries()[0].Notification.Attempt)

		end()
		var looks atomic.Bool
		s.hook = redistest.Calls(func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
			for _, cmd := range cmds {
				if cmd.Name() == "hgetall" && looks.Load() {
					storeclock.Sleep(ctx, nil, time.Minute)
					cmd.SetErr(context.DeadlineExceeded)
					return context.DeadlineExceeded
				}
			}
			return next(ctx, cmds)
		})
		s.work()
		s.until(2 * time.Minute)
		looks.Store(true)
		s.until(2*time.Minute + 2*time.Second)
		s.stopSending()
		s.accepted(s.message("later", 2*time.Minute+3500*time.Millisecond+time.Millisecond))
		s.until(3 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 1)
		looks.Store(false)
	}, "1000/minute")
}
