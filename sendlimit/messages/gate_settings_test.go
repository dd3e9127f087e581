package messages_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

// settingsStory is a story of alice with settings.
type settingsStory struct {
	*story.Messages

	settings *settings.Users
}

func newSettingsStory(t *testing.T, o sendlimit.Options) *settingsStory {
	t.Helper()
	s := &settingsStory{Messages: story.TellMessages(t, o)}
	var err error
	s.settings, err = settings.NewUsers(s.Client, "")
	require.NoError(t, err)
	return s
}

func (s *settingsStory) set(settings policy.UserSettings) {
	s.Helper()
	require.NoError(s, s.settings.Set(s.Context(), "alice", settings))
}

// Changed settings of a user apply to the next late message. Cleared settings
// do not.
func TestALateMessageIsJudgedByWhatIsSetForItsUser(t *testing.T) {
	t.Parallel()
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	for id, when := range map[string]string{"a": "11:00", "b": "11:01", "c": "11:02", "d": "11:03", "e": "11:04"} {
		submitCategory(s.Messages, "", id, when)
	}
	s.Until("12:00")
	s.set(policy.UserSettings{Limits: story.LimitsOf(t, "2/minute")})
	requirePlaced(s.Messages, deliver(s.Messages, "a"), "b 11:01:00 12:00:00", "c 11:02:00 12:01:00", "d 11:03:00 12:01:00", "e 11:04:00 12:02:00")
	s.Until("13:00")
	_, err := s.settings.Clear(t.Context(), "alice")
	require.NoError(t, err)
	requirePlaced(s.Messages, deliver(s.Messages, "b"), "c 12:01:00 13:01:00", "d 12:01:00 13:02:00", "e 12:02:00 13:03:00")
}

// Another policy, with quiet hours in the user's zone.
func TestALateMessageUnderThePolicyThatIsSetForItsUser(t *testing.T) {
	t.Parallel()
	night := addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00")
	night.Name = "night"
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"), night)})
	submitCategory(s.Messages, "", "a", "11:00")
	s.Until("14:00")
	s.set(policy.UserSettings{Policy: "night", TimeZone: "Asia/Tokyo"}) // where it is 23:00
	requirePostponed(s.Messages, s.Claim("a", "g-a", "n1"), "a 11:00:00 23:00:00")
	require.True(t, s.Look("a").InQuietHours)
}

// An on-time message is sent without a look at settings, even if its user is
// blocked meanwhile: it was accepted.
func TestAnOnTimeMessageOfABlockedUser(t *testing.T) {
	t.Parallel()
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	submitCategory(s.Messages, "", "a", "11:00")
	submitCategory(s.Messages, "", "b", "11:01")
	s.set(policy.UserSettings{Blocked: true, Policy: "unknown"})
	s.Until("11:00")
	deliver(s.Messages, "a")

	// A late message is judged by the settings. It waits if they cannot be
	// read.
	s.Until("11:10")
	d := messages.Delivery{User: "alice", ID: "b", Generation: "g-b", Nonce: "n1"}
	before := s.Server.Dump()
	_, err := s.Gate.Claim(t.Context(), d, story.Lease, time.Time{})
	require.ErrorIs(t, err, sendlimit.ErrUnknownPolicy)
	var unavailable *fault.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.Equal(t, before, s.Server.Dump())
	s.set(policy.UserSettings{Blocked: true})
	deliver(s.Messages, "b")
}

// A gate that ignores settings does not read them.
func TestAGateWithoutUserSettings(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{}) // without Rules
	s.Server.HSet(story.KeysOf(s.Options).Settings("alice"), "v", "1", "limits", "5/minute")
	submitCategory(s, "", "a", "11:00")
	submitCategory(s, "", "b", "11:01")
	s.Until("12:00")
	requirePlaced(s, deliver(s, "a"), "b 11:01:00 12:01:00")
}

// A time that the former limit refused may be free under the new one.
func TestALateMessageIsJudgedAnewWhereSettingsChange(t *testing.T) {
	t.Parallel()
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute")), ExpireAfter: 30 * 24 * time.Hour})
	submitCategory(s.Messages, "", "a", "11:00")
	reserveEveryMinute(s.Messages, "12:00", 5000) // more than one call searches through
	s.Until("12:00")
	claims := redistest.DoAfterCalls(t, s.Client, lua.Claim, 1, func() {
		s.set(policy.UserSettings{Limits: story.LimitsOf(t, "2/minute")})
	})
	deliver(s.Messages, "a")
	require.Greater(t, claims.Calls, 2)
}

// A blocked user has no free times, even if another call learns newer settings
// meanwhile.
func TestFreeTimesAreThoseOfTheSettingsJudgedBy(t *testing.T) {
	t.Parallel()
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	s.set(policy.UserSettings{Blocked: true})
	ask := sendlimit.NextFreeRequest{User: "alice", Count: 1}
	redistest.DoAfterCalls(t, s.Client, lua.NextFree, 2, func() {
		s.set(policy.UserSettings{TimeZone: "Asia/Tokyo"})
		times, err := s.Timeline.NextFree(t.Context(), ask)
		require.NoError(t, err)
		require.Len(t, times, 1)
	})
	times, err := s.Timeline.NextFree(t.Context(), ask)
	require.NoError(t, err)
	require.Empty(t, times)
}
