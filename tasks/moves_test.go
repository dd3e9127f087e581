package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// A message is moved so often in a minute, by whomever. What is refused or changes nothing
// does not count, and another message has moves of its own.
func TestMovesPerMinute(t *testing.T) {
	tell(t, func(s *story) {
		s.shared.MovesPerMinute = 3
		s.Submitter = s.newSubmitter(submit.Options{})
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

		o, err = s.MoveFrom(s.Context(), "alice", "a", s.at(4*time.Hour), s.at(5*time.Hour))
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
