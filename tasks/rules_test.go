package tasks_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// The rules live in the store; whoever submits follows them within a second.
func TestRulesAreFollowed(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		require.Equal(s, fault.CodeSendLimit, s.submit(s.message("b", time.Hour)).Code)
		s.until(100 * time.Millisecond)
		s.apply("2/minute")
		s.until(999 * time.Millisecond)
		require.Equal(s, "1/minute", s.submit(s.message("b", time.Hour)).Violations[0].Rule)
		s.until(time.Second)
		s.accepted(s.message("b", time.Hour))
		require.Equal(s, "2/minute", s.submit(s.message("c", time.Hour)).Violations[0].Rule)

		s.apply("1/calendar_month") // what is reserved keeps its places
		s.until(2 * time.Second)
		require.Equal(s, "1/calendar_month", s.submit(s.message("c", 2*time.Hour)).Violations[0].Rule)
		require.Equal(s, []string{"a", "b"}, s.places())
		require.Equal(s, "1/calendar_month", s.Policies.Rules().Of("alice").String())
	})
}

func TestRulesOfAnotherPolicy(t *testing.T) {
	tell(t, func(s *story) {
		policies := settings.NewPolicies(s.client, keyspace.KeysUnder(""))
		strict, err := policy.Parse("strict", "Europe/Berlin", "1/calendar_day")
		require.NoError(s, err)
		require.NoError(s, policies.Apply(s.Context(), strict))
		s.shared.Policy = "strict"
		s.Submitter = s.newSubmitter(submit.Options{})
		s.accepted(s.message("a", 22*time.Hour+59*time.Minute)) // midnight in Berlin is at 23:00
		o := s.submit(s.message("b", 22*time.Hour))
		require.Equal(s, "1/calendar_day", o.Violations[0].Rule)
		require.Equal(s, s.at(23*time.Hour), o.NextFreeAt.Time)
	})
}

// A store without rules gives none to go by: nothing is accepted, and no worker
// starts.
func TestStoreWithoutRules(t *testing.T) {
	tell(t, func(s *story) {
		s.server.FlushAll()
		const want = "the store has no rules yet: start a worker on it, or apply a policy"
		refuse := func(err error) {
			s.Helper()
			var away *fault.UnavailableError
			require.ErrorAs(s, err, &away)
			require.Equal(s, want, away.Detail)
		}
		_, err := s.Submit(s.Context(), s.message("a", time.Hour))
		refuse(err)
		_, err = s.Check(s.Context(), s.message("a", time.Hour))
		refuse(err)
		_, err = s.Cancel(s.Context(), "alice", "a")
		refuse(err)
		_, err = s.Move(s.Context(), "alice", "a", s.at(time.Hour))
		refuse(err)
		_, err = s.StartDryRun(s.Context())
		refuse(err)
		worker, err := tasks.NewWorker(taskstest.Open(s, s.client, s.shared), tasks.WorkerOptions{Notifier: s.recorder})
		require.NoError(s, err)
		refuse(worker.Run(s.Context()))
		require.Empty(s, s.server.Keys())

		s.apply()
		s.accepted(s.message("a", time.Hour)) // nobody has to start again
	})
}

// A worker that is stopped while it starts has nothing to finish: that is no
// failure, wherever the stop finds it.
func TestAWorkerIsStoppedBeforeItBegins(t *testing.T) {
	tell(t, func(s *story) {
		for n := range 8 { // further on it has begun, and stops as always
			ctx, stop := context.WithCancel(s.Context())
			client := s.newClient()
			client.AddHook(redistest.Calls((&stopsAt{left: n, stop: stop}).onCall))
			worker, err := tasks.NewWorker(taskstest.Open(t, client, backend.Options{}), tasks.WorkerOptions{Notifier: s.recorder})
			require.NoError(s, err)
			require.NoError(s, worker.Run(ctx), "stopped at call %d", n)
			require.Error(s, ctx.Err(), "it makes as many calls")
		}
	})
}

// stopsAt calls stop before a call of a client, once `left` others were made.
type stopsAt struct {
	mu   sync.Mutex
	left int
	stop func()
}

func (a *stopsAt) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	a.mu.Lock()
	if a.left == 0 {
		a.stop()
	}
	a.left--
	a.mu.Unlock()
	return next(ctx, cmds)
}

// Many who find no rules yet do not wait for one another.
func TestRulesAreFirstLoadedByMany(t *testing.T) {
	tell(t, func(s *story) {
		var all sync.WaitGroup
		outcomes := make([]message.Outcome, 50)
		failures := make([]error, 50)
		for i := range outcomes {
			all.Go(func() {
				m := s.message("a", time.Hour)
				m.User = strconv.Itoa(i)
				outcomes[i], failures[i] = s.Submit(s.Context(), m)
			})
		}
		all.Wait()
		require.NoError(s, errors.Join(failures...))
		for _, o := range outcomes {
			require.Equal(s, message.Accepted, o.Outcome)
		}
	})
}

func TestOptionsOutOfBounds(t *testing.T) {
	tell(t, func(s *story) {
		for sentence, o := range map[string]backend.Options{
			`prefix "A" is not allowed: use 1 to 32 of a-z 0-9 _ -`: {Options: sendlimit.Options{Prefix: "A"}},
			`reach "1ms" is not allowed: use 1 s to 366 days`:       {Options: sendlimit.Options{Reach: time.Millisecond}},
			`keep_records "1s" is not allowed: use at least 1 minute`: {
				Options: sendlimit.Options{KeepRecords: time.Second},
			},
			`expire_after "1ms" is not allowed: use at least 1 s`:  {Options: sendlimit.Options{ExpireAfter: time.Millisecond}},
			`forward_every "-1s" is not allowed: use 1 ms to 1m0s`: {Polling: queue.Polling{Forward: -time.Second}},
			`fetch_every "1m1s" is not allowed: use 1 ms to 1m0s`:  {Polling: queue.Polling{Fetch: 61 * time.Second}},
		} {
			_, err := backend.Open(s.client, o)
			refuses(s.T, err, sentence)
		}
		for sentence, o := range map[string]tasks.WorkerOptions{
			`push_url "" is not allowed: use a push target`:        {},
			`push_timeout "1ns" is not allowed: use at least 1 ms`: {Notifier: s.recorder, PushTimeout: 1},
			`deliveries "-1" is not allowed: use at least 1`:       {Notifier: s.recorder, Deliveries: -1},
			`retry_min "0s" is not allowed: use at least 1 ms`:     {Notifier: s.recorder, Retries: retry.Policy{Attempts: 1}},
			`shutdown_timeout "10s" is not allowed: use more than push_timeout, 10s: ` +
				`a delivery that is cut off is delivered again`: {Notifier: s.recorder, ShutdownTimeout: 10 * time.Second},
		} {
			_, err := tasks.NewWorker(taskstest.Open(s, s.client, s.shared), o)
			refuses(s.T, err, sentence)
		}
	})
}

// refuses requires that an error names a field that is not allowed, in a sentence.
func refuses(t *testing.T, err error, sentence string) {
	t.Helper()
	var invalid *fault.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, sentence, err.Error())
}

// A program that stood still while the policy changed judges by the new one.
func TestRulesOfAProgramThatStoodStill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		act    func(*story, *submit.Submitter) (message.Outcome, error)
	}{
		"submits at a time with few messages around": {"place/reserve", func(s *story, program *submit.Submitter) (message.Outcome, error) {
			return program.Submit(s.Context(), s.message("new", time.Hour+time.Minute))
		}},
		"checks": {"place/check", func(s *story, program *submit.Submitter) (message.Outcome, error) {
			return program.Check(s.Context(), s.message("new", time.Hour+time.Minute))
		}},
		"submits where a shift searches": {"place/reserve", func(s *story, program *submit.Submitter) (message.Outcome, error) {
			m := s.message("new", time.Hour)
			m.OnConflict, m.ShiftUntil = message.OnConflictShift, s.at(time.Hour+time.Minute)
			return program.Submit(s.Context(), m)
		}},
		"moves": {"place/move", func(s *story, program *submit.Submitter) (message.Outcome, error) {
			return program.Move(s.Context(), "alice", "far", s.at(time.Hour+time.Minute))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				s.accepted(s.message("there", time.Hour), s.message("far", 9*time.Hour))
				hook := &beforeScript{name: c.script, done: true, do: func() {
					s.apply("1/hour")
					time.Sleep(3 * time.Second)
				}}
				s.hook = redistest.Commands(hook.onCommand)
				program := s.newSubmitterOn(taskstest.Open(s, s.newClient(), s.shared), submit.Options{})
				_, err := program.Check(s.Context(), s.message("learns-the-rules", 5*time.Hour))
				require.NoError(s, err)
				hook.done = false
				o, err := c.act(s, program)
				require.NoError(s, err)
				require.True(s, hook.done, "it stood still")
				require.Equal(s, fault.CodeSendLimit, o.Code, "%+v", o)
				require.Equal(s, "1/hour", o.Violations[0].Rule)
				require.Equal(s, []string{"there", "far"}, s.places())
			}, "100/minute", "1/10s")
		})
	}
}

// Rules that can't be renewed judge nothing new, but what was accepted goes out.
func TestOldRulesThatCannotBeRenewed(t *testing.T) {
	tell(t, func(s *story) {
		rules, err := sendlimit.NewRules()
		require.NoError(s, err)
		away := errors.New("the store is away")
		rules.ReloadBy(func(context.Context) error { return away })
		timeline, err := sendlimit.NewTimeline(s.client, sendlimit.Options{Rules: rules, Prefix: "own"})
		require.NoError(s, err)
		request := sendlimit.Request{User: "alice", ID: "a", At: s.at(time.Hour)}
		rules.UseUntil(time.Now().Add(time.Second))
		d, err := timeline.Reserve(s.Context(), request)
		require.NoError(s, err)
		require.True(s, d.Allowed)
		time.Sleep(2 * time.Second)
		request.ID = "b"
		_, err = timeline.Reserve(s.Context(), request)
		require.ErrorIs(s, err, away)
		held, err := timeline.List(s.Context(), sendlimit.ListRequest{User: "alice"})
		require.NoError(s, err)
		require.Len(s, held, 1)
	})
}
