package messages_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// A message that was late before waits at its later time. A younger one that becomes late comes
// after it, even if an earlier time has become free.
func TestALateMessageDoesNotOvertakeOneThatWaits(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	s.Submit("a", "10:00", "ga", "text")
	s.Submit("b", "10:10", "gb", "text")
	for minute := 1; minute <= 4; minute++ {
		s.Submit(fmt.Sprint("x", minute), fmt.Sprintf("11:0%d", minute), fmt.Sprint("gx", minute), "text")
	}
	s.Until("11:00")
	requirePlaced(s, deliver(s, "a"), "b 10:10:00 11:05:00")
	for _, minute := range []int{1, 3, 4} {
		d, err := s.Timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "alice", ID: fmt.Sprint("x", minute), Now: s.Now})
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	s.Until("11:03")
	requirePostponed(s, s.Claim("x2", "gx2", "n1"), "x2 11:02:00 11:06:00")
}

// A late message that is younger than one which is being sent waits for it. An older one does not:
// its task is lost, and it gets another.
func TestALateMessageIsNotHeldUpByAYoungerOneThatIsBeingSent(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	s.Submit("b", "11:00", "gb", "text")
	s.Submit("c", "11:01", "gc", "text")
	s.Submit("d", "11:02", "gd", "text")
	s.Until("11:01")
	claim, err := s.Gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "c", Generation: "gc", Nonce: "n1"}, 10*time.Minute, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Send, claim.Verdict)
	s.Until("11:02:05")
	requireBusy(s, "d")
	s.Until("11:02:36")
	requirePostponed(s, s.Claim("d", "gd", "n3"), "b 11:00:00 11:02:36", "d 11:02:00 11:03:36")
}

// The campaign of b is no longer paused, but b has not continued yet: its entry is due in an hour.
// So it delays no other.
func TestAPausedMessageThatHasNotContinuedDelaysNone(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	s.Submit("a", "10:00", "ga", "text")
	r := sendlimit.Request{ID: "b", At: story.At("10:10"), Record: story.RecordOf("gb", "text")}
	r.Record.Campaign = "spring"
	require.True(t, s.Ask(r).Allowed)
	s.Submit("c", "10:20", "gc", "text")
	s.Until("11:00")
	requirePlaced(s, deliver(s, "a"), "b 10:10:00 11:01:00", "c 10:20:00 11:02:00")
	s.Until("11:01")
	claim, err := s.Gate.Claim(t.Context(), messages.Delivery{
		User: "alice", ID: "b", Generation: s.Field("b", "g"), Nonce: keyspace.NewToken(), Paused: messages.PausedOf(messages.Campaign{Name: "spring"}),
	}, story.Lease, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Paused, claim.Verdict)
	s.Until("11:02:01")
	require.Equal(t, story.At("11:02"), deliver(s, "c").SendAt, "on time, at its place")
}
