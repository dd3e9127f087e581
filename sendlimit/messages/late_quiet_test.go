package messages_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// addQuietHours adds quiet hours to a policy.
func addQuietHours(t *testing.T, p policy.Policy, lines ...string) policy.Policy {
	t.Helper()
	p.QuietHours = story.QuietHours(t, lines...)
	return p
}

func TestALateMessageWaitsForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))})
	s.Submit("a", "21:30", "g1", "text")
	s.Submit("b", "21:40", "g2", "text")
	s.Until("22:30")
	requirePostponed(s, s.Claim("b", "g2", "n1"), "a 21:30:00 08:00:00", "b 21:40:00 08:01:00")
	require.Equal(t, "late quiet", s.Field("a", "w"))
	require.True(t, s.Look("a").InQuietHours)
	require.Zero(t, s.Look("a").InTheWay)
	require.Equal(t, story.At("23 08:00"), s.Look("a").SendAt)
	s.Until("23 08:00")
	require.Equal(t, story.At("21:30"), deliver(s, "a").Promised)
	s.Until("23 08:01")
	deliver(s, "b")
}

// A message that was accepted before the hours became quiet is sent as promised
// if it is on time.
func TestOnTimeInHoursThatHaveBecomeQuiet(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "23:00", "g1", "text")
	s.Submit("b", "23:01", "g2", "text")
	usePolicy(s, addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))
	s.Until("23:00:02")
	require.Zero(t, deliver(s, "a").Promised)
	s.Until("23:01:02.001")
	requirePostponed(s, s.Claim("b", "g2", "n1"), "b 23:01:00 08:00:00")
}

// A retry is always late.
func TestARetryObeysQuietHours(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))})
	s.Submit("a", "21:59", "g1", "text")
	s.Until("21:59")
	s.Claim("a", "g1", "n1")
	require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{
		Outcome: messages.Retried, Retry: messages.Retry{Generation: "g2", At: story.At("22:00:30")}, Reason: "unavailable",
	}))
	s.Until("22:00:30")
	requirePostponed(s, s.Claim("a", "g2", "n2"), "a 21:59:00 08:00:00")
	s.Until("23 08:00")
	require.Equal(t, 2, deliver(s, "a").Attempt)
}

func TestAnExemptMessageIsLateInQuietHours(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, addQuietHours(t, story.WithCodes(t, "1/minute"), "22:00-08:00"))})
	for _, id := range []string{"otp", "code"} {
		submitCategory(s, id, id, "21:59")
	}
	s.Until("23:00")
	deliver(s, "otp")
	deliver(s, "code")
	requirePlaces(s, []string{"otp 23:00:00"}, []string{"code 23:00:00"})
}

// A message that expires before the end of the quiet hours is dropped.
func TestAPostponementByQuietHoursIsBoundedByTheExpiry(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))})
	for id, expires := range map[string]string{"gone": "23 08:00", "just": "23 08:00:00.001"} {
		r := sendlimit.Request{ID: id, At: story.At("21:55"), Record: story.RecordOf("g-"+id, "text")}
		if id == "just" {
			r.At = story.At("21:56")
		}
		r.Record.ExpiresAt = story.At(expires)
		require.True(t, s.Ask(r).Allowed)
	}
	s.Until("22:30")
	claim := s.Claim("just", "g-just", "n1")
	requirePostponed(s, claim, "just 21:56:00 08:00:00")
	require.Equal(t, []messages.Drop{{ID: "gone", SendAt: story.At("21:55"), Reason: "no_free_time"}}, claim.Dropped)
}

// The reach of a policy limits requests, not postponements.
func TestAPostponementIsNotBoundedByThePolicysReach(t *testing.T) {
	t.Parallel()
	p := addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00")
	p.Reach = time.Hour
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	s.Until("21:00")
	s.Submit("a", "21:50", "g1", "text")
	s.Until("22:30")
	requirePostponed(s, s.Claim("a", "g1", "n1"), "a 21:50:00 08:00:00")
}

// Quiet hours of one weekday in a zone whose clocks are put back meanwhile: a
// late message waits until the clock shows their end.
func TestALateMessageInTheNightOfAClockChange(t *testing.T) {
	t.Parallel()
	p := addQuietHours(t, story.PolicyOf(t, "zone:Europe/Berlin", "1/minute"), "sat 22:00-08:00")
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	s.Until("2027-10-30T19:00:00Z")
	r := sendlimit.Request{ID: "a", At: story.At("2027-10-30T19:30:00Z"), Record: story.RecordOf("g1", "text")}
	require.True(t, s.Ask(r).Allowed)
	s.Until("2027-10-30T20:30:00Z") // 22:30 in Berlin
	claim := s.Claim("a", "g1", "n1")
	require.Equal(t, messages.Postponed, claim.Verdict)
	require.Equal(t, story.At("2027-10-31T07:00:00Z"), claim.Placed[0].At, "ten hours and the one that there is twice")
}
