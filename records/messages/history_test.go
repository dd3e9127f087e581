package messages_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// traced returns the history of a message of alice, each change as
// "at change former>send #attempt reason".
func (s *deadStory) traced(id string) []string {
	s.Helper()
	traced, err := story.RecordsIn(s, s.Client, s.Options.Prefix).Trace(s.Context(), "alice", id)
	require.NoError(s, err)
	var lines []string
	for _, c := range traced[0].History {
		line := c.At.Format("15:04:05.999 ") + c.What
		if !c.FormerSendAt.IsZero() || !c.SendAt.IsZero() {
			line += " " + clock(c.FormerSendAt) + ">" + clock(c.SendAt)
		}
		if !c.Until.IsZero() {
			line += " until " + c.Until.Sub(c.At).String() + " later"
		}
		if c.Attempt > 0 {
			line += fmt.Sprintf(" #%d", c.Attempt)
		}
		lines = append(lines, strings.TrimSpace(line+" "+c.Reason))
	}
	return lines
}

func clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format("15:04:05.999")
}

// The reason of a postponement says what was in the way, as the status does.
func TestAHistoryHasPostponements(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	for i, id := range []string{"a", "b"} {
		s.Submit(id, fmt.Sprintf("11:0%d", i), "first-"+id, "text")
	}
	s.Until("11:05")
	require.Equal(t, messages.Send, s.Claim("a", "first-a", "n1").Verdict)
	require.Equal(t, []string{
		"00:00:00 accepted >11:01:00", "11:05:00 postponed 11:01:00>11:06:00 late",
	}, s.traced("b"))
	traced, err := story.RecordsIn(t, s.Client, s.Options.Prefix).Read(t.Context(), "alice", "b")
	require.NoError(t, err)
	require.Equal(t, policy.Rule{Limit: 1, Window: time.Minute}, traced[0].History[1].InTheWay)
	require.Equal(t, []byte("text"), traced[0].Content)
	require.Equal(t, []string{"00:00:00 accepted >11:00:00", "11:05:00 postponed 11:00:00>11:05:00 late"}, s.traced("a"))
}

// Of a long history the last 16 changes stay, the end among them.
func TestAHistoryHasTheLastChanges(t *testing.T) {
	t.Parallel()
	o := story.NewMessages(t, "1/minute").Options
	o.MovesPerMinute = 100
	s := &deadStory{Messages: story.TellMessages(t, o)}
	s.Submit("a", "12:00", "g0", "text")
	want := []string{"00:00:00 accepted >12:00:00"}
	for i := 1; i <= 40; i++ {
		former, next := fmt.Sprintf("12:%02d", i-1), fmt.Sprintf("12:%02d", i)
		require.True(t, s.MoveTo("a", next, fmt.Sprintf("g%d", i)).Allowed)
		want = append(want, fmt.Sprintf("00:00:00 moved %s:00>%s:00", former, next))
		require.Equal(t, want[max(0, len(want)-messages.MaxHistory):], s.traced("a"))
	}
	s.Release("a")
	want = append(want, "00:00:00 cancelled")
	require.Equal(t, want[len(want)-messages.MaxHistory:], s.traced("a"))
}

// What earlier releases accepted has no time of its accept. What a later one notes in a way
// of its own is left out.
func TestAHistoryOfAnotherRelease(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	key := story.KeysOf(s.Options).Record("alice", "a")
	require.NoError(t, s.Client.HDel(t.Context(), key, "A").Err())
	require.Empty(t, s.traced("a"))
	s.MoveTo("a", "12:00", "g2")
	moved := []string{"00:00:00 moved 11:00:00>12:00:00"}
	require.Equal(t, moved, s.traced("a"))
	for i, foreign := range []string{"Z 1 . . . .", "m", "m x . . . .", "m 1 x . . .", "m 1 . . x .", ""} {
		require.NoError(t, s.Client.HSet(t.Context(), key, "H", 2, "h1", foreign).Err())
		require.Equal(t, moved, s.traced("a"), "%d: %s", i, foreign)
	}
	require.NoError(t, s.Client.HSet(t.Context(), key, "H", "many").Err())
	_, err := story.RecordsIn(t, s.Client, s.Options.Prefix).Trace(t.Context(), "alice", "a")
	require.ErrorIs(t, err, fault.ErrReply)
}

// No value of a history is longer than what the compact encoding of a record allows.
func TestAHistoryCutsLongReasons(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	reason := strings.Repeat("überlang", 20)
	s.deliverAs("a", messages.Settlement{
		Outcome: messages.Retried, Reason: reason, Retry: messages.Retry{Generation: "g2", At: story.At("11:00:30")},
	})
	require.Len(t, s.Field("a", "h0"), 64)
	traced := s.traced("a")
	_, cut, _ := strings.Cut(traced[1], "#1 ")
	require.True(t, strings.HasPrefix(reason, cut) && len(cut) > 20, cut)
	require.Equal(t, reason, s.Look("a").Reason)
	require.True(t, slices.Contains(traced, "00:00:00 accepted >11:00:00"))
}

// A pause is noted once, however often the message is looked at meanwhile. So is its end,
// whether the message is resumed or its next claim finds out.
func TestAHistoryHasPauses(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/minute")
	spring := messages.Campaign{Name: "spring"}
	record := story.RecordOf("g0", "text")
	record.Campaign, record.ExpiresAt = spring.Name, story.At("11:00").Add(72*time.Hour)
	require.True(t, s.Ask(sendlimit.Request{User: "alice", ID: "a", At: story.At("11:00"), Record: record}).Allowed)
	claim := func(nonce string, paused ...messages.Campaign) messages.Claim {
		d := messages.Delivery{
			User: "alice", ID: "a", Generation: s.Field("a", "g"), Nonce: nonce, Paused: messages.PausedOf(paused...),
		}
		answer, err := s.Gate.Claim(t.Context(), d, time.Minute, s.Now)
		require.NoError(t, err)
		return answer
	}
	s.Until("11:00")
	want := []string{"00:00:00 accepted >11:00:00", "11:00:00 paused until 72h0m0s later"}
	for n := range 20 {
		answer := claim(fmt.Sprintf("n%d", n), spring)
		require.Equal(t, messages.Paused, answer.Verdict)
		require.Equal(t, want, s.traced("a"))
		s.Wait(answer.Until.Sub(s.Now))
	}

	pauses := messages.NewPauses(s.Client, keyspace.KeysUnder(s.Options.Prefix))
	for range 2 { // repeated without an answer
		resumed, err := pauses.ResumeMessage(t.Context(), "alice", "a", "g1", s.Now)
		require.NoError(t, err)
		require.True(t, resumed)
	}
	want = append(want, "07:00:00 resumed")
	require.Equal(t, want, s.traced("a"))
	require.Equal(t, messages.Paused, claim("again", spring).Verdict)
	want = append(want, "07:00:00 paused until 52h0m0s later")
	require.Equal(t, want, s.traced("a"))
	s.Wait(time.Hour)
	require.Equal(t, messages.Send, claim("sent").Verdict)
	require.Equal(t, append(want, "08:00:00 resumed", "08:00:00 postponed 11:00:00>08:00:00 late"), s.traced("a"))
	require.Empty(t, s.Look("a").Reason)
}

// Only so many campaigns of an account are paused that a claim can get them all; those of others
// don't count. To pause one again is always allowed.
func TestMostPaused(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	p := messages.NewPauses(client, keyspace.KeysUnder(""))
	at := time.Date(2051, time.July, 12, 11, 11, 11, 0, time.UTC)
	of := func(n int) messages.Campaign {
		return messages.Campaign{Account: "acme", Name: fmt.Sprintf("c%d", n)}
	}
	var paused []messages.Campaign
	for n := range messages.MaxPaused {
		since, err := p.Pause(t.Context(), of(n), at)
		require.NoError(t, err)
		require.Equal(t, at, since)
		paused = append(paused, of(n))
	}
	_, err := p.Pause(t.Context(), of(messages.MaxPaused), at)
	var wrong *fault.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.EqualError(t, err, `campaign "c200" can't be paused: the account has 200 paused campaigns, which is the most; resume one first`)
	require.False(t, messages.PausedOf(paused...).Large())
	other := messages.Campaign{Account: "acme-2", Name: "c200"}
	_, err = p.Pause(t.Context(), other, at)
	require.NoError(t, err)
	paused = append(paused, other)
	since, err := p.Pause(t.Context(), of(7), at.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, at, since)
	set, err := p.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, messages.PausedOf(paused...), set)
	require.True(t, set.Large())
	require.Equal(t, messages.PausedOf(other), set.Of("acme-2"))
	require.Zero(t, set.Of(""))

	for _, was := range []bool{true, false} {
		resumed, err := p.Resume(t.Context(), of(7))
		require.NoError(t, err)
		require.Equal(t, was, resumed)
	}
	since, err = p.Since(t.Context(), of(7))
	require.NoError(t, err)
	require.Zero(t, since)
	_, err = p.Pause(t.Context(), of(messages.MaxPaused), at)
	require.NoError(t, err)
}
