package sendlimit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// The name of a task is a generation, and every new task has a new one: a task of a former name
// may still run or be retained.
func TestAGenerationIsNeverReused(t *testing.T) {
	t.Parallel()
	made := make(map[string]bool)
	for range 10_000 {
		g := keyspace.NewToken()
		require.Regexp(t, `^[A-Za-z0-9_-]{12}$`, g)
		require.False(t, made[g])
		made[g] = true
	}
}

// The client library repeats a call that timed out although it was carried out.
// The repeated call gave another answer, or did it twice. The generation and
// the nonce tell a repetition from a second request: they stay the same in all
// repetitions. TestMessagesAgreeWithTheirAccount repeats calls at once; here
// something happens in between, or the time is now.
func TestARepeatedCallGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	const shown = "11:11:11"
	begin := func(t *testing.T) *story.Messages {
		t.Helper()
		s := story.NewMessages(t, "1/minute")
		s.Until(shown)
		s.Submit("held", "12:00", "h1", "text")
		return s
	}
	claimed := func(t *testing.T) *story.Messages {
		t.Helper()
		s := begin(t)
		s.Until("12:00")
		require.Equal(t, messages.Send, s.Claim("held", "h1", "n1").Verdict)
		return s
	}
	for name, test := range map[string]struct {
		begin   func(*testing.T) *story.Messages
		call    func(*story.Messages) any
		between func(*story.Messages) // what others do until the call is repeated
	}{
		"reserve, now": {call: func(s *story.Messages) any { return s.Submit("a", "", "g1", "text") }},
		"reserve, then cancelled": {
			call:    func(s *story.Messages) any { return s.Submit("a", "11:30", "g1", "text") },
			between: func(s *story.Messages) { s.Release("a") },
		},
		"reserve, then claimed": {
			call:    func(s *story.Messages) any { return s.Submit("a", shown, "g1", "text") },
			between: func(s *story.Messages) { s.Claim("a", "g1", "n1") },
		},
		"move, now": {call: func(s *story.Messages) any { return s.MoveTo("held", "", "g1") }},
		"move, then cancelled": {
			call:    func(s *story.Messages) any { return s.MoveTo("held", "12:30", "g1") },
			between: func(s *story.Messages) { s.Release("held") },
		},
		"settle, retry, then cancelled": {
			begin: claimed,
			call: func(s *story.Messages) any {
				return s.Settle("held", "h1", "n1", messages.Settlement{Outcome: messages.Retried, Retry: messages.Retry{Generation: "g1", At: story.At("13:00")}})
			},
			between: func(s *story.Messages) { s.Release("held") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := begin
			if test.begin != nil {
				start = test.begin
			}
			s := start(t)
			first := test.call(s)
			if test.between != nil {
				test.between(s)
			}
			after := s.Server.Dump()
			if d, decided := first.(sendlimit.Decision); decided {
				d.Superseded = sendlimit.Timer{} // by the first call only
				first = d
			}
			for range 3 {
				require.Equal(t, first, test.call(s))
			}
			require.Equal(t, after, s.Server.Dump(), "it is done once")
		})
	}
	t.Run("release", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		first := s.Release("held")
		after := s.Server.Dump()
		first.Replayed, first.Superseded = true, sendlimit.Timer{}
		require.Equal(t, first, s.Release("held"), "the same, but for saying so")
		require.Equal(t, after, s.Server.Dump())
	})
}
