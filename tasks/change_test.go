package tasks_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// A move that shifts goes to the next free time, where its own place counts as free.
func TestMoveThatShifts(t *testing.T) {
	tell(t, func(s *story) {
		s.work()
		s.accepted(s.message("a", 10*time.Second), s.message("b", 30*time.Second), s.message("c", 40*time.Second))
		shift := func(id string, after, until time.Duration) message.Outcome {
			to := message.Move{At: s.at(after), OnConflict: message.OnConflictShift}
			if until != 0 {
				to.ShiftUntil = s.at(until)
			}
			o, err := s.MoveTo(s.Context(), "alice", id, to)
			require.NoError(s, err)
			return o
		}
		o := shift("a", 31*time.Second, 49*time.Second)
		require.Equal(s, fault.CodeSendLimit, o.Code, "the next free time is after the last one allowed")
		require.Equal(s, s.at(50*time.Second), o.NextFreeAt.Time)
		o = shift("a", 31*time.Second, 50*time.Second)
		require.Equal(s, message.Moved, o.Outcome)
		require.True(s, o.Shifted)
		require.Equal(s, []time.Time{s.at(50 * time.Second), s.at(31 * time.Second), s.at(10 * time.Second)},
			[]time.Time{o.SendAt.Time, o.RequestedAt.Time, o.MovedFrom.Time})
		o = shift("b", 20*time.Second, 0)
		require.Equal(s, message.Moved, o.Outcome)
		require.False(s, o.Shifted, "it is free")
		o = shift("c", 45*time.Second, 0)
		require.Equal(s, []time.Time{s.at(60 * time.Second), s.at(45 * time.Second), s.at(40 * time.Second)},
			[]time.Time{o.SendAt.Time, o.RequestedAt.Time, o.MovedFrom.Time})
		o, err := s.MoveTo(s.Context(), "alice", "c", message.Move{At: s.at(55 * time.Second)})
		require.NoError(s, err)
		require.Equal(s, fault.CodeSendLimit, o.Code, "without on_conflict it refuses")
		s.until(80 * time.Second)
		s.delivered("b +20s", "a +50s", "c +1m0s")
	}, "1/10s")
}

// A shift does not go past the expiry of the message.
func TestMoveThatShiftsEndsBeforeTheExpiry(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("b", 30*time.Second))
		m := s.message("a", 10*time.Second)
		m.ExpiresAt = s.at(40 * time.Second)
		s.accepted(m)
		o, err := s.MoveTo(s.Context(), "alice", "a", message.Move{At: s.at(31 * time.Second), OnConflict: message.OnConflictShift})
		require.NoError(s, err)
		require.Equal(s, fault.CodeSendLimit, o.Code)
		require.Equal(s, []string{"a", "b"}, s.places())
	}, "1/10s")
}

// A change of a message that ended says what became of it.
func TestChangeOfAMessageThatEnded(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", 10*time.Second))
		s.cancelled("a")
		o, err := s.Move(s.Context(), "alice", "a", s.at(20*time.Second))
		require.NoError(s, err)
		require.Equal(s, fault.CodeNotFound, o.Code)
		require.Regexp(s, `^message a to alice was cancelled at \S+: submit it again to have it sent$`, o.Detail)
		short := s.message("short", 10*time.Second)
		short.ExpiresAt = s.at(11 * time.Second)
		s.accepted(short)
		s.until(20 * time.Second)
		s.work()
		s.until(30 * time.Second)
		for _, change := range []func() (message.Outcome, error){
			func() (message.Outcome, error) { return s.Cancel(s.Context(), "alice", "short") },
			func() (message.Outcome, error) {
				return s.Move(s.Context(), "alice", "short", s.at(time.Hour))
			},
		} {
			o, err := change()
			require.NoError(s, err)
			require.Equal(s, fault.CodeNotFound, o.Code)
			require.Contains(s, o.Detail, "message short to alice was dropped (expired) at ")
		}
		o, err = s.For("other").Move(s.Context(), "alice", "short", s.at(time.Hour))
		require.NoError(s, err)
		require.Equal(s, `no pending message "short" of user "alice"`, o.Detail, "another account learns nothing")
	}, "100/minute")
}

// Tasks of every generation a message has had run at all times and
// repeatedly, and only the present one delivers, once.
func TestStaleTasksSendNothing(t *testing.T) {
	tell(t, func(s *story) {
		s.work()
		client := asynq.NewClientFromRedisClient(s.client)
		var generations []string
		ran := func() {
			s.Helper()
			generations = append(generations, s.record("alice", "a")["g"])
			for _, generation := range generations {
				payload, err := json.Marshal(queue.Payload{
					Version: 1, User: "alice", ID: "a", Generation: generation, Due: time.Now().UnixMilli(),
				})
				require.NoError(s, err)
				_, err = client.Enqueue(asynq.NewTask(queue.TypeDeliver, payload), asynq.Queue(queue.Name("")))
				require.NoError(s, err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		s.accepted(s.message("a", 10*time.Second))
		ran()
		s.moved("a", 20*time.Second)
		ran()
		s.cancelled("a")
		ran()
		s.accepted(s.message("a", 30*time.Second))
		ran()
		s.delivered()
		s.until(30*time.Second + 10*time.Millisecond)
		s.delivered("a +30s")
		ran()
		s.until(time.Minute) // one that found the message being sent looks again when that is surely over
		s.delivered("a +30s")
		require.Zero(s, s.queued())
	}, "100/minute")
}

// What is being sent, or was, can be changed no more.
func TestTooLate(t *testing.T) {
	tell(t, func(s *story) {
		s.work()
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			time.Sleep(5 * time.Second)
			return notifier.Result{Status: notifier.Delivered}
		})
		tooLate := func() {
			s.Helper()
			o, err := s.Cancel(s.Context(), "alice", "a")
			require.NoError(s, err)
			require.Equal(s, fault.CodeTooLate, o.Code)
			require.Equal(s, "message a to alice is being sent or was sent: it can no longer be changed", o.Detail)
			o, err = s.Move(s.Context(), "alice", "a", s.at(time.Hour))
			require.NoError(s, err)
			require.Equal(s, fault.CodeTooLate, o.Code)
			require.Equal(s, s.at(10*time.Second), o.SendAt.Time)
		}
		s.accepted(s.message("a", 10*time.Second))
		s.until(11 * time.Second)
		tooLate()
		s.until(20 * time.Second)
		tooLate()
		s.delivered("a +10s")
	}, "100/minute")
}

// A message is moved so often in a minute, by whomever. What is refused or changes nothing
// does not count, and another message has moves of its own.
func TestMovesPerMinute(t *testing.T) {
	tell(t, func(s *story) {
		s.shared.MovesPerMinute = 3
		s.horizon(24 * time.Hour)
		s.accepted(s.message("a", time.Hour), s.message("b", 10*time.Hour))
		s.moved("a", 2*time.Hour)
		s.until(20 * time.Second)
		other := s.newSubmitter(submit.Options{})
		for range 5 {
			s.moved("a", 2*time.Hour)
			o, err := s.Move(s.Context(), "alice", "a", s.at(10*time.Hour))
			require.NoError(s, err)
			require.Equal(s, fault.CodeSendLimit, o.Code)
		}
		s.moved("a", 3*time.Hour)
		s.moved("a", 4*time.Hour)
		generation := s.record("alice", "a")["g"]
		for _, by := range []*submit.Submitter{s.Submitter, other} {
			o, err := by.Move(s.Context(), "alice", "a", s.at(5*time.Hour))
			require.NoError(s, err)
			require.Equal(s, message.Outcome{
				Outcome: message.Refused, Code: fault.CodeRateLimited, ID: "a", User: "alice",
				SendAt: message.Time{Time: s.at(5 * time.Hour)}, RetryAfterSeconds: 40,
				Detail: "message a to alice was moved as often as a minute allows (moves_per_minute): move it again in 40 seconds",
			}, o)
		}
		o, err := s.MoveTo(s.Context(), "alice", "a", message.Move{At: s.at(5 * time.Hour), OnConflict: message.OnConflictShift})
		require.NoError(s, err)
		require.Equal(s, fault.CodeRateLimited, o.Code, "another time does not help")
		require.Equal(s, generation, s.record("alice", "a")["g"])
		s.moved("a", 4*time.Hour)
		s.moved("b", 11*time.Hour)

		o, err = s.MoveFrom(s.Context(), "alice", "a", s.at(4*time.Hour), s.at(5*time.Hour), "")
		require.NoError(s, err)
		require.Equal(s, message.Moved, o.Outcome, "a refit is not held up by a caller's moves")

		s.until(time.Minute - time.Millisecond)
		o, err = s.Move(s.Context(), "alice", "a", s.at(6*time.Hour))
		require.NoError(s, err)
		require.Equal(s, fault.CodeRateLimited, o.Code)
		require.Equal(s, int64(1), o.RetryAfterSeconds)
		s.until(time.Minute)
		for i := range 3 {
			s.moved("a", time.Duration(6+i)*time.Hour)
		}
		o, err = s.Move(s.Context(), "alice", "a", s.at(5*time.Hour))
		require.NoError(s, err)
		require.Equal(s, int64(60), o.RetryAfterSeconds, "a minute from the first move on")
		s.cancelled("a")
	})
}
