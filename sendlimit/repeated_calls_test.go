package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Two users had messages with the same id, and the key consisted only of the
// id: one message was never delivered.
func TestTwoUsersUseTheSameID(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Until("11:00")
	for _, user := range []string{"alice", "bob", "ali", "alice:a", "a/alice"} {
		d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
			User: user, ID: "a", Record: story.RecordOf("g-"+keyspace.NewToken(), "to "+user),
		})
		require.NoError(t, err)
		require.Equal(t, sendlimit.Decision{Allowed: true, At: s.Now, Now: s.Now}, d)
	}
	for _, user := range []string{"alice", "bob", "ali", "alice:a", "a/alice"} {
		record := story.KeysOf(s.Options).Record(user, "a")
		claim, err := s.Gate.Claim(t.Context(), messages.Delivery{
			User: user, ID: "a", Generation: s.Server.HGet(record, "g"), Nonce: "n",
		}, story.Lease, time.Time{})
		require.NoError(t, err)
		require.Equal(t, messages.Send, claim.Verdict)
		require.Equal(t, "to "+user, string(claim.Content))
	}
}

// "The queue has a task of this name, so it has the message" is false: the task
// may be an older one that runs or is retained. So the name of a task is a
// generation, and every new task has a new one.
func TestAGenerationIsNeverReused(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	var generations []string
	present := func() {
		generations = append(generations, s.Field("a", "g"))
	}
	s.Submit("a", "11:00", keyspace.NewToken(), "text")
	present()
	s.MoveTo("a", "12:00", keyspace.NewToken())
	present()
	s.Until("12:00")
	s.Claim("a", generations[1], "n1")
	s.Settle("a", generations[1], "n1", messages.Settlement{Outcome: messages.Retried, Retry: messages.Retry{Generation: keyspace.NewToken(), At: s.Now}})
	present()
	s.Release("a")
	s.Submit("a", "12:30", keyspace.NewToken(), "text")
	present()
	s.Until("12:30")
	for _, old := range generations[:3] {
		require.Equal(t, messages.Stale, s.Claim("a", old, "n2").Verdict)
	}
	require.Equal(t, messages.Send, s.Claim("a", generations[3], "n2").Verdict)

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
// repetitions.
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
		"reserve":             {call: func(s *story.Messages) any { return s.Submit("a", "11:30", "g1", "text") }},
		"reserve, now":        {call: func(s *story.Messages) any { return s.Submit("a", "", "g1", "text") }},
		"reserve, shifted":    {call: func(s *story.Messages) any { return s.SubmitShifting("a", "12:00:01", "g1") }},
		"reserve, with grace": {call: func(s *story.Messages) any { return s.Submit("a", "11:11:08", "g1", "text") }},
		"reserve, then cancelled": {
			call:    func(s *story.Messages) any { return s.Submit("a", "11:30", "g1", "text") },
			between: func(s *story.Messages) { s.Release("a") },
		},
		"reserve, then claimed": {
			call:    func(s *story.Messages) any { return s.Submit("a", shown, "g1", "text") },
			between: func(s *story.Messages) { s.Claim("a", "g1", "n1") },
		},
		"reserve, refused": {call: func(s *story.Messages) any { return s.Submit("a", "12:00", "g1", "text") }},
		"move":             {call: func(s *story.Messages) any { return s.MoveTo("held", "12:30", "g1") }},
		"move, now":        {call: func(s *story.Messages) any { return s.MoveTo("held", "", "g1") }},
		"move, with grace": {call: func(s *story.Messages) any { return s.MoveTo("held", "11:11:08", "g1") }},
		"move, then cancelled": {
			call:    func(s *story.Messages) any { return s.MoveTo("held", "12:30", "g1") },
			between: func(s *story.Messages) { s.Release("held") },
		},
		"claim":        {begin: claimed, call: func(s *story.Messages) any { return s.Claim("held", "h1", "n1") }},
		"claim, early": {call: func(s *story.Messages) any { return s.Claim("held", "h1", "n1") }},
		"claim, expired": {
			begin: func(t *testing.T) *story.Messages {
				t.Helper()
				s := begin(t)
				s.Until("23 12:00")
				return s
			},
			call: func(s *story.Messages) any { return s.Claim("held", "h1", "n1") },
		},
		"claim, late": {
			begin: func(t *testing.T) *story.Messages {
				t.Helper()
				s := begin(t)
				s.Until("13:00")
				return s
			},
			call: func(s *story.Messages) any { return s.Claim("held", "h1", "n1") },
		},
		"claim, postponed": {
			begin: func(t *testing.T) *story.Messages {
				t.Helper()
				s := begin(t)
				s.Submit("ahead", "13:00", "h2", "text")
				s.Until("12:59:30")
				return s
			},
			call: func(s *story.Messages) any { return s.Claim("held", "h1", "n1") },
		},
		"settle, delivered": {begin: claimed, call: func(s *story.Messages) any {
			return s.Settle("held", "h1", "n1", messages.Settlement{Outcome: messages.Delivered})
		}},
		"settle, failed": {begin: claimed, call: func(s *story.Messages) any {
			return s.Settle("held", "h1", "n1", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
		}},
		"settle, uncertain": {begin: claimed, call: func(s *story.Messages) any {
			return s.Settle("held", "h1", "n1", messages.Settlement{Outcome: messages.Uncertain, Reason: "timeout", Words: "no answer"})
		}},
		"settle, retry": {begin: claimed, call: func(s *story.Messages) any {
			return s.Settle("held", "h1", "n1", messages.Settlement{Outcome: messages.Retried, Retry: messages.Retry{Generation: "g1", At: story.At("13:00")}})
		}},
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

// A next free time was promised and then refused: the neighbour was sent a
// quarter of a second late and recorded at that time.
func TestAPromisedTimeStaysFree(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	promised := s.Submit("b", "11:00:30", "g2", "text").NextFree
	require.Equal(t, story.At("11:01"), promised)
	s.Until("11:00:00.250")
	require.Equal(t, messages.Send, s.Claim("a", "g1", "n1").Verdict)
	s.Wait(500 * time.Millisecond)
	require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered}))
	s.Holds("a 11:00:00")
	require.True(t, s.Ask(sendlimit.Request{ID: "b", At: promised, Record: story.RecordOf("g3", "text")}).Allowed)
}
