package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// quietAt adds quiet hours to a policy.
func quietAt(t *testing.T, p policy.Policy, lines ...string) policy.Policy {
	t.Helper()
	var err error
	p.QuietHours, err = policy.ParseQuietHours(lines...)
	require.NoError(t, err)
	return p
}

func TestALateMessageWaitsForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: quietAt(t, policyOf(t, "1/minute"), "22:00-08:00")})
	s.submit("a", "21:30", "g1", "text")
	s.submit("b", "21:40", "g2", "text")
	s.until("22:30")
	s.postponed(s.claim("b", "g2", "n1"), "a 21:30:00 08:00:00", "b 21:40:00 08:01:00")
	require.Equal(t, "late quiet", s.field("a", "w"))
	require.True(t, s.stands("a").InQuietHours)
	require.Zero(t, s.stands("a").InTheWay)
	require.Equal(t, at("23 08:00"), s.stands("a").SendAt)
	s.until("23 08:00")
	require.Equal(t, at("21:30"), s.goesOut("a").Promised)
	s.until("23 08:01")
	s.goesOut("b")
}

// What was accepted before the hours were quiet is sent under the promise it was
// given, if it is on time.
func TestOnTimeInHoursThatHaveBecomeQuiet(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "23:00", "g1", "text")
	s.submit("b", "23:01", "g2", "text")
	s.judgedBy(quietAt(t, policyOf(t, "1/minute"), "22:00-08:00"))
	s.until("23:00:02")
	require.Zero(t, s.goesOut("a").Promised)
	s.until("23:01:02.001")
	s.postponed(s.claim("b", "g2", "n1"), "b 23:01:00 08:00:00")
}

// A retry is late by its nature.
func TestARetryObeysQuietHours(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: quietAt(t, policyOf(t, "1/minute"), "22:00-08:00")})
	s.submit("a", "21:59", "g1", "text")
	s.until("21:59")
	s.claim("a", "g1", "n1")
	require.True(t, s.settle("a", "g1", "n1", messages.Settlement{
		Retry: &messages.Retry{Generation: "g2", At: at("22:00:30")}, Reason: "unavailable",
	}))
	s.until("22:00:30")
	s.postponed(s.claim("a", "g2", "n2"), "a 21:59:00 08:00:00")
	s.until("23 08:00")
	require.Equal(t, 2, s.goesOut("a").Attempt)
}

func TestAnExemptMessageIsLateInQuietHours(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: quietAt(t, withCodes(t, "1/minute"), "22:00-08:00")})
	for _, id := range []string{"otp", "code"} {
		s.submitOf(id, id, "21:59")
	}
	s.until("23:00")
	s.goesOut("otp")
	s.goesOut("code")
	s.places([]string{"otp 23:00:00"}, []string{"code 23:00:00"})
}

// Whoever expires before the quiet hours end is not sent in them.
func TestAPostponementByQuietHoursIsBoundedByTheExpiry(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: quietAt(t, policyOf(t, "1/minute"), "22:00-08:00")})
	for id, expires := range map[string]string{"gone": "23 08:00", "just": "23 08:00:00.001"} {
		r := sendlimit.Request{ID: id, At: at("21:55"), Record: recordOf("g-"+id, "text")}
		if id == "just" {
			r.At = at("21:56")
		}
		r.Record.ExpiresAt = at(expires)
		require.True(t, s.ask(r).Allowed)
	}
	s.until("22:30")
	claim := s.claim("just", "g-just", "n1")
	s.postponed(claim, "just 21:56:00 08:00:00")
	require.Equal(t, []messages.Drop{{ID: "gone", SendAt: at("21:55"), Reason: "no_free_time"}}, claim.Dropped)
}

// The reach of a policy bounds what is asked for, not what has become late.
func TestAPostponementIsNotBoundedByThePolicysReach(t *testing.T) {
	t.Parallel()
	p := quietAt(t, policyOf(t, "1/minute"), "22:00-08:00")
	p.Reach = time.Hour
	s := tellMessages(t, sendlimit.Options{Policy: p})
	s.until("21:00")
	s.submit("a", "21:50", "g1", "text")
	s.until("22:30")
	s.postponed(s.claim("a", "g1", "n1"), "a 21:50:00 08:00:00")
}

// Quiet hours of one weekday, in a zone whose clocks are put back in them: what
// is late waits until the clock shows their end.
func TestALateMessageInTheNightOfAClockChange(t *testing.T) {
	t.Parallel()
	p := quietAt(t, policyOf(t, "zone:Europe/Berlin", "1/minute"), "sat 22:00-08:00")
	s := tellMessages(t, sendlimit.Options{Policy: p})
	s.until("2027-10-30T19:00:00Z")
	r := sendlimit.Request{ID: "a", At: at("2027-10-30T19:30:00Z"), Record: recordOf("g1", "text")}
	require.True(t, s.ask(r).Allowed)
	s.until("2027-10-30T20:30:00Z") // 22:30 in Berlin
	claim := s.claim("a", "g1", "n1")
	require.Equal(t, messages.Postponed, claim.Verdict)
	require.Equal(t, at("2027-10-31T07:00:00Z"), claim.Placed[0].At, "ten hours and the one that there is twice")
}
