package tasks_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// delayHook has the first call of a script arrive late: its answer is that of the
// repetition which the client library makes after its timeout.
type delayHook struct {
	script  *lua.Script
	timeout time.Duration

	mu      sync.Mutex
	skip    int // calls before that arrive at once
	delayed []any
}

func (h *delayHook) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	h.mu.Lock()
	args := cmd.Args()
	ours := h.delayed == nil && len(args) > 1 && args[1] == h.script.Hash()
	if ours && h.skip > 0 {
		ours = false
		h.skip--
	}
	if ours {
		h.delayed = slices.Clone(args)
	}
	h.mu.Unlock()
	if ours {
		time.Sleep(h.timeout)
	}
	return next(ctx, cmd)
}

// A change whose command was repeated may be made by the first of the two when the
// second was refused: then it is charged all the same.
func TestADelayedChangeIsCharged(t *testing.T) {
	t.Parallel()
	settled := func(s *story) {
		charges, err := quota.New(s.client, quota.Options{})
		require.NoError(s, err)
		time.Sleep(time.Minute)
		due, err := charges.Due(s.Context(), time.Now(), 100)
		require.NoError(s, err)
		for _, hold := range due {
			_, _, err := charges.Resolve(s.Context(), hold, time.Time{})
			require.NoError(s, err)
		}
		s.requireCharges(nil, map[string][]string{"alice": {"first", "second"}})
	}
	// delayed is a submitter that a script of is delayed to, and what sends that on.
	delayed := func(s *story, script *lua.Script) (*submit.Submitter, func()) {
		hook := &delayHook{script: script, timeout: 1200 * time.Millisecond}
		s.hook = redistest.Commands(hook.onCommand)
		client := s.newClient()
		submitter, err := submit.New(taskstest.Open(t, client, s.shared), submit.Options{})
		require.NoError(s, err)
		s.Cleanup(func() { require.NoError(s, submitter.Close()) })
		return submitter, func() { require.NoError(s, s.client.Do(s.Context(), hook.delayed...).Err()) }
	}
	paid := func(s *story, id string, after time.Duration) message.Message {
		m := s.message(id, after)
		m.Account = "acme"
		return m
	}
	t.Run("submit", func(t *testing.T) {
		tell(t, func(s *story) {
			s.charges("acme", accounts.Tier{MessagesPerDay: 5}, "")
			s.accepted(paid(s, "first", time.Hour))
			late, arrive := delayed(s, lua.Reserve)
			o, err := late.Submit(s.Context(), paid(s, "second", time.Hour))
			require.NoError(s, err)
			require.Equal(s, message.Refused, o.Outcome)
			s.cancelled("first")
			arrive()
			require.NotEmpty(s, s.record("alice", "second"), "it was accepted")
			settled(s)
		})
	})
	t.Run("move", func(t *testing.T) {
		tell(t, func(s *story) {
			s.charges("acme", accounts.Tier{MessagesPerDay: 5}, "")
			s.accepted(paid(s, "first", time.Hour), paid(s, "second", 2*time.Hour))
			late, arrive := delayed(s, lua.Move)
			o, err := late.For("acme").Move(s.Context(), "alice", "second", s.at(time.Hour))
			require.NoError(s, err)
			require.Equal(s, message.Refused, o.Outcome)
			s.cancelled("first")
			arrive()
			status, _, err := s.Status(s.Context(), "alice", "second")
			require.NoError(s, err)
			require.Equal(s, s.at(time.Hour), status.SendAt.Time)
			settled(s)
		})
	})
}

// At the end of an hour, a program whose clock is ahead takes what is still to come
// for past.
func TestTheStoresClockDecidesAboutTheHour(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 2}, "")
		first, second := s.paid("1", 2*time.Hour), s.paid("2", time.Hour+500*time.Millisecond)
		s.accepted(first)
		s.until(time.Hour + 2*time.Second)
		s.server.SetTime(s.at(time.Hour - 2*time.Second))
		ahead := s.newSubmitter(submit.Options{})
		o, err := ahead.Move(s.Context(), first.User, first.ID, s.at(time.Hour+500*time.Millisecond))
		require.NoError(s, err)
		require.Equal(s, message.Moved, o.Outcome)
		require.Equal(s, s.at(time.Hour+500*time.Millisecond), o.SendAt.Time)
		o, err = s.newSubmitter(submit.Options{}).Submit(s.Context(), second)
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome)
		s.requireCharges(nil, map[string][]string{first.User: {"1"}, second.User: {"2"}})
	})
}

// charged is a message of account acme to a user.
func (s *story) charged(user, id string, after time.Duration) message.Message {
	m := s.message(id, after)
	m.User, m.Account = user, "acme"
	return m
}

// What leaves the hour and the day that it was asked for, since the user's policy
// says so, is charged for those where it comes to stand, and for no other.
func TestAShiftByPolicyIsCharged(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 2, MessagesPerDay: 3}, "UTC")
		s.policy(func(p *policy.Policy) {
			p.QuietHours, p.OnConflict = quiet(s, "22:00-08:00"), policy.Shift
		})
		night := 22*time.Hour + 30*time.Minute
		first := s.charged("u1", "a", night)
		o, err := s.Check(s.Context(), first)
		require.NoError(s, err)
		require.Equal(s, s.at(32*time.Hour), o.SendAt.Time)
		o = s.submit(first)
		require.Equal(s, s.at(32*time.Hour), o.SendAt.Time)
		require.True(s, s.submit(first).Replayed)
		require.Equal(s, s.at(32*time.Hour), s.submit(s.charged("u2", "b", night)).SendAt.Time)
		require.Equal(s, s.at(33*time.Hour), s.submit(s.charged("u3", "c", night)).SendAt.Time, "an hour later, since the first one is used up")
		o = s.submit(s.charged("u5", "e", night))
		require.Equal(s, []any{fault.CodeQuietHours, s.at(56 * time.Hour)}, []any{o.Code, o.NextFreeAt.Time}, "the day is used up, and the next one is too late")

		refused := s.charged("u4", "d", night)
		refused.OnConflict = message.OnConflictRefuse
		require.Equal(s, fault.CodeQuietHours, s.submit(refused).Code, "it holds nothing")
		s.requireCharges(map[string]*time.Location{"acme": time.UTC},
			map[string][]string{"u1": {"a"}, "u2": {"b"}, "u3": {"c"}, "u4": {"d"}, "u5": {"e"}})
	})
}

// What is never accepted for a user is said before what an account has left.
func TestBlockedAndQuietComeBeforeTheQuota(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerDay: 1}, "UTC")
		s.policy(func(p *policy.Policy) { p.QuietHours = quiet(s, "22:00-08:00") })
		s.accepted(s.charged("u1", "a", 12*time.Hour))
		s.set("u2", policy.UserSettings{Blocked: true})
		for user, code := range map[string]fault.Code{"u2": fault.CodeBlocked, "u3": fault.CodeQuietHours} {
			m := s.charged(user, "b", 22*time.Hour+30*time.Minute)
			require.Equal(s, code, s.submit(m).Code)
			o, err := s.Check(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, code, o.Code)
		}
		require.Equal(s, fault.CodeQuotaExceeded, s.submit(s.charged("u3", "b", 12*time.Hour)).Code)
		s.requireCharges(map[string]*time.Location{"acme": time.UTC},
			map[string][]string{"u1": {"a"}, "u2": {"b"}, "u3": {"b"}})
	})
}
