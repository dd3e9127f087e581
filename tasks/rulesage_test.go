package tasks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

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
				s.hook = hook
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
