package messages_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// newFailedMessage returns a story of a message of a category that failed at
// 21:30. The policy changes after that.
func newFailedMessage(t *testing.T, category string, later policy.Policy) *deadStory {
	t.Helper()
	o := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))}
	s := &deadStory{Messages: story.TellMessages(t, o)}
	submitCategory(s.Messages, category, "a", "21:30")
	s.Until("21:30")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	o.Records, o.Rules = true, story.RulesBy(t, later)
	var err error
	s.dead, err = messages.NewDeadLetters(s.Client, o)
	require.NoError(t, err)
	s.Timeline, err = sendlimit.NewTimeline(s.Client, o)
	require.NoError(t, err)
	return s
}

func TestARetryWaitsForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	s := newFailedMessage(t, "", addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))
	s.Until("23:00")
	require.Equal(t,
		sendlimit.Decision{Allowed: true, At: story.At("23 08:00"), RequestedAt: story.At("21:30"), Now: s.Now},
		s.retry("a", "g2"))
}

func TestARetryForABlockedUser(t *testing.T) {
	t.Parallel()
	s := newFailedMessage(t, "", story.PolicyOf(t, "1/minute"))
	settings, err := settings.NewUsers(s.Client, "")
	require.NoError(t, err)
	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Blocked: true}))
	before := s.Server.Dump()
	for range 2 { // with settings not yet known, and known
		require.Equal(t, sendlimit.Decision{Code: fault.CodeBlocked, Now: s.Now}, s.retry("a", "g2"))
	}
	require.Equal(t, before, s.Server.Dump())
	s.requireListed("a 21:30:00")
	err = settings.Clear(t.Context(), "alice")
	require.NoError(t, err)
	require.True(t, s.retry("a", "g2").Allowed)
}

// The reach of a policy limits a retry: a retry is a new promise.
func TestARetryStaysWithinThePolicysReach(t *testing.T) {
	t.Parallel()
	p := addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00")
	p.Reach = time.Hour
	s := newFailedMessage(t, "", p)
	s.Until("22:30")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeSendLimit, Now: s.Now}, s.retry("a", "g2"))
	s.Until("23 07:30")
	require.Equal(t, story.At("23 08:00"), s.retry("a", "g2").At)
}

// A message that may have been sent counts for the rules of its category, even
// after a purge.
func TestAPurgedUncertainMessageCountsForItsCategory(t *testing.T) {
	t.Parallel()
	o := sendlimit.Options{Rules: story.RulesBy(t, addCategory(t, story.PolicyOf(t, "1/minute"), "marketing", "2/calendar_day"))}
	s := &deadStory{Messages: story.TellMessages(t, o)}
	var err error
	s.dead, err = messages.NewDeadLetters(s.Client, s.Options)
	require.NoError(t, err)
	for id, when := range map[string]string{"a": "11:00", "b": "11:10"} {
		submitCategory(s.Messages, "marketing", id, when)
	}
	for _, id := range []string{"a", "b"} {
		s.Until(map[string]string{"a": "11:00", "b": "11:10"}[id])
		s.deliverAs(id, messages.Settlement{Outcome: messages.Uncertain, Reason: "timeout"})
	}
	refused := func() {
		d := s.Ask(sendlimit.Request{ID: "c", At: story.At("15:00"), Record: story.Categorized("g-c", "marketing")})
		require.Equal(t, fault.CodeSendLimit, d.Code)
		require.Equal(t, "marketing", d.Violations[0].Category)
	}
	refused()
	kept := s.KeptFor("a")
	for _, id := range []string{"a", "b"} {
		purged, err := s.dead.Purge(t.Context(), "alice", id)
		require.NoError(t, err)
		require.True(t, purged)
	}
	refused()
	s.requireListed()
	require.Equal(t, kept, s.KeptFor("a"))
	require.Equal(t, messages.Info{User: "alice", ID: "a"}, s.Look("a"))
	require.Equal(t, fault.CodeNotFound, s.Release("a").Code)
	require.Equal(t, fault.CodeNotFound, s.retry("a", "g2").Code)
	require.Equal(t, fault.CodeNotFound, s.MoveTo("a", "16:00", "g2").Code)
	keys := story.KeysOf(s.Options)
	require.Len(t, s.Client.ZRange(t.Context(), keys.Timeline("alice"), 0, -1).Val(), 2)

	submitCategory(s.Messages, "news", "a", "23 11:00") // its id is free
	require.Equal(t, "news", s.Look("a").Category)
	require.Len(t, s.Client.ZRange(t.Context(), keys.Category("alice", "marketing"), 0, -1).Val(), 2, "both may have been sent")
	refused()
	require.Equal(t, []string{"a"}, s.Client.ZRange(t.Context(), keys.Category("alice", "news"), 0, -1).Val())
	timeline, err := sendlimit.NewTimeline(s.Client, s.Options)
	require.NoError(t, err)
	_, err = timeline.RecordSent(t.Context(), sendlimit.SentRequest{
		User: "alice", ID: "b", At: story.At("11:12"), Record: story.Categorized("g-d", "news"), Now: story.At("11:12"),
	})
	require.NoError(t, err)
	refused()
	require.Equal(t, []string{"b", "a"}, s.Client.ZRange(t.Context(), keys.Category("alice", "news"), 0, -1).Val())
	require.Zero(t, s.KeptFor("a"), "with a record of its own")
}
