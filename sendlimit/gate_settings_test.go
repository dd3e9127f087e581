package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

// personal is a story of alice, for whom things are set.
type personal struct {
	*messageStory

	settings *settings.Users
}

func newPersonal(t *testing.T, o sendlimit.Options) *personal {
	t.Helper()
	o.UserSettings = true
	s := &personal{messageStory: tellMessages(t, o)}
	var err error
	s.settings, err = settings.NewUsers(s.client, "")
	require.NoError(t, err)
	return s
}

func (s *personal) set(settings policy.UserSettings) {
	s.Helper()
	require.NoError(s, s.settings.Set(s.Context(), "alice", settings))
}

func limitsOf(t *testing.T, rules ...string) []policy.Rule {
	t.Helper()
	return policyOf(t, rules...).Rules
}

// What is set for a user holds for the next late message, and what is set no more
// holds no more.
func TestALateMessageIsJudgedByWhatIsSetForItsUser(t *testing.T) {
	t.Parallel()
	s := newPersonal(t, sendlimit.Options{Policy: policyOf(t, "1/minute")})
	for id, when := range map[string]string{"a": "11:00", "b": "11:01", "c": "11:02", "d": "11:03", "e": "11:04"} {
		s.submitOf("", id, when)
	}
	s.until("12:00")
	s.set(policy.UserSettings{Limits: limitsOf(t, "2/minute")})
	s.placed(s.goesOut("a"), "b 11:01:00 12:00:00", "c 11:02:00 12:01:00", "d 11:03:00 12:01:00", "e 11:04:00 12:02:00")
	s.until("13:00")
	_, err := s.settings.Clear(t.Context(), "alice")
	require.NoError(t, err)
	s.placed(s.goesOut("b"), "c 12:01:00 13:01:00", "d 12:01:00 13:02:00", "e 12:02:00 13:03:00")
}

// Another policy, and the quiet hours of the user's own zone.
func TestALateMessageUnderThePolicyThatIsSetForItsUser(t *testing.T) {
	t.Parallel()
	night := quietAt(t, policyOf(t, "1/minute"), "22:00-08:00")
	night.Name = "night"
	s := newPersonal(t, sendlimit.Options{Policy: policyOf(t, "1/minute"), Policies: []policy.Policy{night}})
	s.submitOf("", "a", "11:00")
	s.until("14:00")
	s.set(policy.UserSettings{Policy: "night", TimeZone: "Asia/Tokyo"}) // where it is 23:00
	s.postponed(s.claim("a", "g-a", "n1"), "a 11:00:00 23:00:00")
	require.True(t, s.stands("a").InQuietHours)
}

// An on-time message asks for nothing that is set, and is sent though its user
// has been blocked: it was accepted before.
func TestAnOnTimeMessageOfABlockedUser(t *testing.T) {
	t.Parallel()
	s := newPersonal(t, sendlimit.Options{Policy: policyOf(t, "1/minute")})
	s.submitOf("", "a", "11:00")
	s.submitOf("", "b", "11:01")
	s.set(policy.UserSettings{Blocked: true, Policy: "unknown"})
	s.until("11:00")
	s.goesOut("a")

	// A late one is judged by what is set: not where nobody knows what that is.
	s.until("11:10")
	d := messages.Delivery{User: "alice", ID: "b", Generation: "g-b", Nonce: "n1"}
	before := s.server.Dump()
	_, err := s.gate.Claim(t.Context(), d, lease, time.Time{})
	require.ErrorIs(t, err, judge.ErrUnknownPolicy)
	var unavailable *fault.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.Equal(t, before, s.server.Dump())
	s.set(policy.UserSettings{Blocked: true})
	s.goesOut("b")
}

// A gate that does not honour what is set for users asks for nothing.
func TestAGateWithoutUserSettings(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.server.HSet(keysOf(s.options).Settings("alice"), "v", "1", "limits", "5/minute")
	s.submitOf("", "a", "11:00")
	s.submitOf("", "b", "11:01")
	s.until("12:00")
	s.placed(s.goesOut("a"), "b 11:01:00 12:01:00")
}

// What was passed over under the limit of before may be free under the one of now.
func TestALateMessageIsJudgedAnewWhereSettingsChange(t *testing.T) {
	t.Parallel()
	s := newPersonal(t, sendlimit.Options{Policy: policyOf(t, "1/minute"), ExpireAfter: 30 * 24 * time.Hour})
	s.submitOf("", "a", "11:00")
	s.reservedEveryMinute("12:00", 5000) // more than one call searches through
	s.until("12:00")
	claims := afterCalls(t, s.client, lua.Claim, 1, func() {
		s.set(policy.UserSettings{Limits: limitsOf(t, "2/minute")})
	})
	s.goesOut("a")
	require.Greater(t, claims.calls, 2)
}

// A user who is blocked has no free times, whatever somebody else learns of them
// since.
func TestFreeTimesAreThoseOfTheSettingsJudgedBy(t *testing.T) {
	t.Parallel()
	s := newPersonal(t, sendlimit.Options{Policy: policyOf(t, "1/minute"), SettingsCache: judge.NewSettingsCache()})
	s.set(policy.UserSettings{Blocked: true})
	ask := sendlimit.NextFreeRequest{User: "alice", Count: 1}
	afterCalls(t, s.client, lua.NextFree, 2, func() {
		s.set(policy.UserSettings{TimeZone: "Asia/Tokyo"})
		times, err := s.timeline.NextFree(t.Context(), ask)
		require.NoError(t, err)
		require.Len(t, times, 1)
	})
	times, err := s.timeline.NextFree(t.Context(), ask)
	require.NoError(t, err)
	require.Empty(t, times)
}
