package messages_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// settingsStory is a story of alice with settings.
type settingsStory struct {
	*story.Messages

	settings *settings.Users
}

func newSettingsStory(t *testing.T, o sendlimit.Options) *settingsStory {
	t.Helper()
	s := &settingsStory{Messages: story.TellMessages(t, o)}
	s.settings = settings.NewUsers(s.Client, keyspace.KeysUnder(""))
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
	err := s.settings.Clear(t.Context(), "alice")
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

// An on-time message is sent without a look at rules, even if they cannot be read.
func TestAnOnTimeMessageOfAnUnknownPolicy(t *testing.T) {
	t.Parallel()
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	submitCategory(s.Messages, "", "a", "11:00")
	submitCategory(s.Messages, "", "b", "11:01")
	s.set(policy.UserSettings{Policy: "unknown"})
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
	s.set(policy.UserSettings{})
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

// A message of a category that the user has opted out of meanwhile is not sent, on time or
// late, and frees its place. Others are, until the user is blocked.
func TestAMessageThatTheUserDoesNotWant(t *testing.T) {
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

	s.Until("13:00")
	s.set(policy.UserSettings{Blocked: true})
	blocked := messages.Claim{Verdict: messages.Dropped, SendAt: story.At("13:00"), Reason: messages.ReasonBlocked, Now: s.Now}
	require.Equal(t, blocked, s.Claim("f", "g-f", "n3"), "it has no category")
}

// A message of a user who is not disturbed waits at the gate, and is sent by the rules afterwards,
// unless it expires; an exempt one is sent. Who opts out of all gets only exempt ones.
func TestAUserWhoIsNotDisturbed(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.Categories, p.UnknownCategories = map[string]policy.CategoryRules{"otp": {Exempt: true}}, policy.AllowUnknown
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	submitCategory(s.Messages, "news", "a", "11:00")
	submitCategory(s.Messages, "", "b", "11:01")
	submitCategory(s.Messages, "otp", "c", "11:01")
	s.set(policy.UserSettings{DoNotDisturbUntil: story.At("13:00")})
	refused := s.Ask(sendlimit.Request{ID: "d", At: story.At("12:00"), Record: story.Categorized("g-d", "news")})
	require.Equal(t, fault.CodeDoNotDisturb, refused.Code)
	require.Equal(t, []time.Time{story.At("13:00"), story.At("13:00")}, []time.Time{refused.DoNotDisturbUntil, refused.NextFree})

	s.Until("11:00")
	requirePostponed(s.Messages, s.Claim("a", s.Field("a", "g"), "n1"), "a 11:00:00 13:00:00")
	require.True(t, s.Look("a").DoNotDisturb)
	s.Until("11:01")
	requirePostponed(s.Messages, s.Claim("b", s.Field("b", "g"), "n2"), "b 11:01:00 13:01:00")
	deliver(s.Messages, "c")
	s.Until("13:00")
	deliver(s.Messages, "a")
	s.set(policy.UserSettings{OptOut: []string{policy.AllCategories}})
	submitCategory(s.Messages, "otp", "e", "13:01")
	require.Equal(t, fault.CodeOptedOut, s.Ask(sendlimit.Request{ID: "d", At: story.At("14:00"), Record: story.Categorized("g-d", "news")}).Code)
	s.Until("13:01")
	dropped := messages.Claim{Verdict: messages.Dropped, SendAt: story.At("13:01"), Reason: messages.ReasonOptedOut, Now: s.Now}
	require.Equal(t, dropped, s.Claim("b", s.Field("b", "g"), "n3"))
	deliver(s.Messages, "e")
}

// A message whose time lies in quiet hours that its user set after it was accepted waits for their end, and is
// then sent by the rules, or dropped if it expires before. Exempt ones are sent, and so is one at a time that only
// the policy made quiet.
func TestQuietHoursOfTheUserHold(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.Categories, p.UnknownCategories = map[string]policy.CategoryRules{"otp": {Exempt: true}}, policy.AllowUnknown
	s := newSettingsStory(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	submitCategory(s.Messages, "news", "a", "11:00")
	submitCategory(s.Messages, "", "c", "11:01")
	expiring := sendlimit.Request{ID: "d", At: story.At("11:02"), Record: story.Categorized("g-d", "news")}
	expiring.Record.ExpiresAt = story.At("11:30")
	require.True(t, s.Ask(expiring).Allowed)
	submitCategory(s.Messages, "", "e", "11:58")
	submitCategory(s.Messages, "otp", "b", "11:01")
	s.Until("10:59:54")
	s.set(policy.UserSettings{QuietHours: story.QuietHours(t, "11:00-11:30"), TimeZone: "Europe/Berlin"})
	s.Until("11:00")
	deliver(s.Messages, "a")
	s.set(policy.UserSettings{QuietHours: story.QuietHours(t, "12:01-12:50"), TimeZone: "Europe/Berlin"})
	s.Until("11:01")
	deliver(s.Messages, "b")
	requirePostponed(s.Messages, s.Claim("c", s.Field("c", "g"), "n2"), "c 11:01:00 11:50:00")
	require.True(t, s.Look("c").InQuietHours)
	s.Until("11:02")
	dropped := messages.Claim{Verdict: messages.Dropped, SendAt: story.At("11:02"), Reason: messages.ReasonNoFreeTime, Now: s.Now}
	require.Equal(t, dropped, s.Claim("d", "g-d", "n3"))
	s.Until("11:50")
	deliver(s.Messages, "c")
	usePolicy(s.Messages, addQuietHours(t, p, "11:55-12:00"))
	s.Until("11:58")
	deliver(s.Messages, "e")
}

func TestClaimSends(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	r := sendlimit.Request{ID: "b", At: story.At("11:00:30"), Shift: true, Record: story.RecordOf("g2", "")}
	r.Record.Category = "news"
	s.Ask(r)
	s.Until("11:00:00.250")
	require.Equal(t, messages.Claim{
		Verdict: messages.Send, SendAt: story.At("11:00"), Attempt: 1, Content: []byte("text"), Now: s.Now,
		ExpiresAt: story.At("11:00").Add(24 * time.Hour),
	}, s.Claim("a", "g1", "n1"))
	s.Watched("g2/b 10:59:00", "g1/a 11:00:30.25") // the time of the relay if the worker dies
	s.Until("11:01:00.250")
	require.Equal(t, messages.Claim{
		Verdict: messages.Send, SendAt: story.At("11:01"), RequestedAt: story.At("11:00:30"), Attempt: 1,
		Category: "news", Content: []byte{}, Now: s.Now, ExpiresAt: story.At("11:01").Add(24 * time.Hour),
	}, s.Claim("b", "g2", "n2"))
	s.Watched("g1/a 11:00:30.25", "g2/b 11:01:30.25")
}

// An id must be kept as long as its place counts. Otherwise a repeated submit
// would conflict with itself or take a second place.
func TestARecordOutlivesItsPlace(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/30d")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	s.Claim("a", "g1", "n1")
	s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered})
	const counts = 30*24*time.Hour + policy.Grace
	require.Equal(t, counts, s.KeptFor("a"), "more than the seven days that records are kept")
	s.Wait(counts - time.Millisecond)
	s.Holds("a 11:00:00")
	require.True(t, s.Submit("a", "11:00", "g2", "text").Replayed)
}

func TestVerdictsHaveNames(t *testing.T) {
	t.Parallel()
	for verdict, name := range map[messages.Verdict]string{
		messages.Send: "send", messages.Stale: "stale", messages.Busy: "busy", messages.Early: "early",
		messages.Dropped: "dropped", messages.Postponed: "postponed", 9: "verdict(9)",
	} {
		require.Equal(t, name, verdict.String())
	}
}
