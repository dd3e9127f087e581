package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// A message of a category that the user has opted out of meanwhile is not sent, on time or
// late, and frees its place. Others are.
func TestAMessageOfACategoryThatTheUserDoesNotWant(t *testing.T) {
	t.Parallel()
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	submitCategory(s.Messages, "news", "a", "11:00")
	submitCategory(s.Messages, "ads", "b", "11:01")
	submitCategory(s.Messages, "news", "c", "11:02")
	submitCategory(s.Messages, "ads", "d", "11:03")
	s.set(policy.UserSettings{OptOut: []string{"news"}})
	s.Until("11:00")
	require.Equal(t, messages.Claim{Verdict: messages.Dropped, SendAt: story.At("11:00"), Reason: "opted_out", Now: s.Now}, s.Claim("a", "g-a", "n1"))
	require.Equal(t, messages.StateDropped, s.Look("a").State)
	require.Equal(t, "opted_out", s.Claim("a", "g-a", "n1").Reason, "the same call again")
	s.Until("12:00")
	requirePlaced(s.Messages, deliver(s.Messages, "b"), "d 11:03:00 12:01:00")
	require.Equal(t, messages.Claim{Verdict: messages.Dropped, SendAt: story.At("11:02"), Reason: "opted_out", Now: s.Now}, s.Claim("c", "g-c", "n2"))

	news := sendlimit.Request{ID: "e", At: story.At("13:00"), Record: story.Categorized("g-e", "news")}
	require.Equal(t, fault.CodeOptedOut, s.Ask(news).Code)
	submitCategory(s.Messages, "", "f", "13:00")
	require.Equal(t, fault.CodeNotFound, s.MoveTo("a", "13:01", "g2").Code)
	s.set(policy.UserSettings{OptOut: []string{"ads"}})
	require.Equal(t, fault.CodeOptedOut, s.MoveTo("d", "14:00", "g2").Code)
	require.Equal(t, fault.CodeSendLimit, s.Ask(news).Code, "news again, at the time of f")
}
