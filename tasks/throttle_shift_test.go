package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Where a message is counts as free for its own move under a throttle, too: a shift does not
// move it behind its own place.
func TestAShiftUnderAThrottleToWhereTheMessageIs(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("1/minute", "1/minute")
		noon := 12 * time.Hour
		for i, id := range []string{"first", "second", "a"} {
			m := s.message(id, noon+time.Duration(i)*time.Minute)
			m.Category = "marketing"
			s.accepted(m)
		}
		body := "new"
		for _, to := range []time.Duration{noon, noon + time.Second, noon + 2*time.Minute - time.Millisecond} {
			refused, err := s.Move(s.Context(), "alice", "a", s.at(to))
			require.NoError(s, err)
			require.Equal(s, []any{fault.CodeThrottled, s.at(noon + 2*time.Minute)}, []any{refused.Code, refused.NextFreeAt.Time})
			for _, e := range []message.Edit{{}, {Body: &body}} {
				o := s.edited("a", message.Patch{Move: &message.Move{At: s.at(to), OnConflict: message.OnConflictShift}, Edit: e})
				require.Equal(s, []any{message.Moved, true, s.at(noon + 2*time.Minute)}, []any{o.Outcome, o.Shifted, o.SendAt.Time}, "%+v", o)
			}
		}
		require.Equal(s, "accepted; changed content", s.words())

		// The rules refuse it, and the throttle has room.
		s.cancelled("second")
		s.moved("a", noon+3*time.Minute)
		other := s.message("other", noon+2*time.Minute+30*time.Second)
		other.User, other.Category = "bob", "marketing"
		s.accepted(other, s.message("plain", noon+90*time.Second))
		refused, err := s.Move(s.Context(), "alice", "a", s.at(noon+time.Minute+10*time.Second))
		require.NoError(s, err)
		require.Equal(s, []any{fault.CodeSendLimit, s.at(noon + 3*time.Minute)}, []any{refused.Code, refused.NextFreeAt.Time},
			"12:02 is full for the throttle")
		s.requireThrottled(map[string]int{"12:00": 1, "12:02": 1, "12:03": 1})
	})
}

// A shift under a throttle ends before the expiry that a change sets, not the former one.
func TestAShiftUnderAThrottleWithAChangedExpiry(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("1/minute")
		noon := 12 * time.Hour
		m := s.ad("2", 11*time.Hour)
		m.ExpiresAt = s.at(noon + 30*time.Second)
		s.accepted(s.ad("1", noon), m)
		shift := message.Move{At: s.at(noon), OnConflict: message.OnConflictShift}
		for _, row := range []struct {
			expires time.Time // zero: as it is
			want    string
			at      time.Duration
		}{
			{time.Time{}, message.Refused, noon},
			{s.at(noon + time.Minute), message.Refused, noon},
			{s.at(noon + 2*time.Minute), message.Moved, noon + time.Minute},
		} {
			p := message.Patch{Move: &shift}
			if !row.expires.IsZero() {
				p.Edit.ExpiresAt = &row.expires
			}
			o, err := s.Change(s.Context(), "user-2", "2", p)
			require.NoError(s, err)
			require.Equal(s, []any{row.want, s.at(row.at)}, []any{o.Outcome, o.SendAt.Time}, "%+v", o)
		}
	})
}
