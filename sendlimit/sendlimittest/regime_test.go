package sendlimittest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// newPolicyStory starts a story with a changed policy.
func newPolicyStory(t *testing.T, change func(*policy.Policy), rules ...string) *modelStory {
	t.Helper()
	model, err := sendlimittest.NewModel(newPolicy(t, "test", change, rules...), policy.DefaultReach)
	require.NoError(t, err)
	return &modelStory{T: t, model: model, now: story.At("00:00:00")}
}

func newPolicy(t *testing.T, name string, change func(*policy.Policy), rules ...string) policy.Policy {
	t.Helper()
	p, err := policy.Parse(name, "", rules...)
	require.NoError(t, err)
	change(&p)
	require.NoError(t, p.Validate())
	return p
}

func parseRule(t *testing.T, text string) policy.Rule {
	t.Helper()
	r, err := policy.ParseRule(text)
	require.NoError(t, err)
	return r
}

func (s *modelStory) reserveOf(category, id, when string) sendlimit.Decision {
	r := s.request(id, when)
	r.Category = category
	return s.model.Reserve(r)
}

func TestQuietHoursRefuse(t *testing.T) {
	t.Parallel()
	s := newPolicyStory(t, func(p *policy.Policy) { p.QuietHours = story.QuietHours(t, "22:00-08:00") }, "1/minute")
	s.accepted("21:59:30", "23 08:00:00")
	d := s.reserve("a", "22:00:00")
	require.Equal(t, fault.CodeQuietHours, d.Code)
	require.Equal(t, &policy.QuietPeriod{
		From: story.At("22:00:00"), Until: story.At("23 08:00:00"), TimeZone: "UTC", Location: time.UTC, Hours: "22:00-08:00",
	}, d.Quiet)
	require.Len(t, d.Violations, 1, "the rule that would break is told as well")
	require.Equal(t, story.At("23 08:01:00"), d.NextFree, "the first minute after is taken")
	require.Equal(t, story.At("21:58:30"), d.PreviousFree)
	require.Nil(t, s.reserve("a", "23:00:00").Violations)
	require.Equal(t, fault.CodeSendLimit, s.reserve("a", "23 08:00:59.999").Code, "08:00 is not quiet")
	require.Equal(t, story.At("23 08:01:00"), s.shift("b", "23:00:00", "").At)
	require.Equal(t, fault.CodeQuietHours, s.shift("c", "23:00:00", "23 08:01:59.999").Code)

	free := s.model.NextFree(sendlimit.NextFreeRequest{User: "alice", From: story.At("21:58:00"), Count: 3, Now: s.now})
	require.Equal(t, []time.Time{story.At("21:58:00"), story.At("23 08:02:00"), story.At("23 08:03:00")}, free)
	u := s.model.Usage(sendlimit.UsageRequest{User: "alice", From: story.At("21:00:00"), To: story.At("23 08:00:00"), Now: s.now})
	require.Equal(t, []calendar.Stretch{{From: story.At("22:00:00"), Until: story.At("23 08:00:00")}}, u.Quiet)
	require.Equal(t, []calendar.Stretch{{From: story.At("21:00:00"), Until: story.At("21:58:30.001")}}, u.Free)
}

func TestOrderOfJudgement(t *testing.T) {
	t.Parallel()
	s := newPolicyStory(t, func(p *policy.Policy) {
		p.QuietHours, p.Reach = story.QuietHours(t, "22:00-08:00"), 48*time.Hour
	}, "1/minute")
	s.now = story.At("12:00:00")
	s.accepted("12:30:00")
	require.Equal(t, fault.CodeTooFarAhead, s.reserve("a", "24 12:00:00.001").Code, "the policy's reach")
	require.NoError(t, s.model.Set("alice", policy.UserSettings{Blocked: true}))
	require.True(t, s.reserve("12:30:00", "12:30:00").Replayed, "what was accepted is")
	require.Equal(t, fault.CodeInPast, s.reserve("a", "11:00:00").Code)
	require.Equal(t, fault.CodeTooFarAhead, s.reserve("a", "24 12:00:00.001").Code)
	for _, when := range []string{"12:00:00", "23:00:00", "12:30:00"} { // free, quiet, taken
		require.Equal(t, sendlimit.Decision{Code: fault.CodeBlocked, At: story.At(when), Now: s.now}, s.reserve("a", when))
		require.Equal(t, fault.CodeBlocked, s.shift("a", when, "").Code)
	}
	require.Equal(t, fault.CodeBlocked, s.move("12:30:00", "13:00:00").Code)
	require.True(t, s.move("12:30:00", "12:30:00").Allowed, "which changes nothing")
	require.True(t, s.release("12:30:00").Allowed)
	require.NoError(t, s.model.Set("alice", policy.UserSettings{}))
	require.Equal(t, fault.CodeQuietHours, s.reserve("a", "23:00:00").Code)
}

func TestCategories(t *testing.T) {
	t.Parallel()
	s := newPolicyStory(t, func(p *policy.Policy) {
		p.UnknownCategories = policy.AllowUnknown
		p.Categories = map[string]policy.CategoryRules{
			"marketing": {Rules: []policy.Rule{parseRule(t, "1/hour")}},
			"otp":       {Exempt: true},
			"codes":     {Exempt: true, Uncounted: true},
		}
		p.QuietHours = story.QuietHours(t, "20:00-21:00")
	}, "2/minute")
	require.True(t, s.reserveOf("marketing", "a", "11:00:00").Allowed)
	require.True(t, s.reserveOf("", "b", "11:00:00").Allowed)
	require.Equal(t, "2/minute", s.reserveOf("news", "x", "11:00:30").Violations[0].Rule.String(), "a category of which nothing is said")
	d := s.reserveOf("marketing", "x", "11:00:30")
	require.Len(t, d.Violations, 2, "the overall rule, then the category's")
	require.Equal(t, sendlimit.Violation{
		Rule: parseRule(t, "1/hour"), Category: "marketing", ConflictsTotal: 1,
		Conflicts: []keyspace.Reservation{{ID: "a", At: story.At("11:00:00")}},
	}, d.Violations[1])
	require.Equal(t, story.At("12:00:00"), d.NextFree)
	require.True(t, s.reserveOf("", "c", "11:30:00").Allowed, "others are not of that category")

	for _, when := range []string{"11:00:00", "11:00:00", "20:30:00"} {
		s.reserveOf("otp", "exempt"+when, when)
		s.reserveOf("codes", "uncounted"+when, when)
	}
	s.holds("a 11:00:00", "b 11:00:00", "exempt11:00:00 11:00:00", "uncounted11:00:00 11:00:00", "c 11:30:00",
		"exempt20:30:00 20:30:00", "uncounted20:30:00 20:30:00")
	require.Equal(t, 3, s.reserveOf("", "x", "11:00:01").Violations[0].ConflictsTotal, "an exempt one counts unless it is uncounted")
	r := sendlimit.UsageRequest{User: "alice", At: story.At("11:00:10"), Category: "marketing", Now: s.now}
	require.Equal(t, []sendlimit.RuleUsage{
		{Rule: parseRule(t, "2/minute"), Used: 3, From: story.At("11:00:00"), Until: story.At("11:01:00")},
		{Rule: parseRule(t, "1/hour"), Category: "marketing", Used: 1, From: story.At("11:00:00"), Until: story.At("12:00:00")},
	}, s.model.Usage(r).Rules)
}

func TestWhatIsSetForAUser(t *testing.T) {
	t.Parallel()
	own := newPolicy(t, "test", func(p *policy.Policy) {
		p.UserTimeZone, p.QuietHours = true, story.QuietHours(t, "22:00-06:00")
	}, "1/minute", "2/calendar_day")
	other := newPolicy(t, "other", func(p *policy.Policy) { p.OnConflict = policy.Shift }, "1/hour")
	s := &modelStory{T: t, now: story.At("00:00:00")}
	var err error
	s.model, err = sendlimittest.NewModel(own, policy.DefaultReach)
	require.NoError(t, err)
	require.NoError(t, s.model.Follow(own, other))
	set := func(settings policy.UserSettings) { require.NoError(t, s.model.Set("alice", settings)) }
	byPolicy := func(id, when string) sendlimit.Decision {
		r := s.request(id, when)
		r.ByPolicy = true
		return s.model.Reserve(r)
	}

	s.accepted("18:00:00", "19:00:00")
	require.Equal(t, fault.CodeSendLimit, s.reserve("a", "20:00:00").Code)
	set(policy.UserSettings{Limits: []policy.Rule{parseRule(t, "3/calendar_day")}})
	require.Equal(t, fault.CodeQuietHours, s.reserve("a", "22:00:00").Code)
	s.accepted("20:00:00")
	require.Equal(t, "3/calendar_day", s.reserve("a", "21:00:00").Violations[0].Rule.String())

	set(policy.UserSettings{TimeZone: "Asia/Kolkata"}) // 23:30 there at 18:00, which is quiet; 00:30 at 19:00
	d := s.reserve("a", "18:30:00")
	require.Equal(t, "Asia/Kolkata", d.Quiet.TimeZone)
	require.Equal(t, story.At("16:30:00"), d.Quiet.From)
	require.Equal(t, story.At("18:30:00"), d.Violations[0].From, "the day is the user's")

	set(policy.UserSettings{Policy: "other"})
	require.Equal(t, fault.CodeSendLimit, s.reserve("a", "18:30:00").Code)
	d = byPolicy("a", "18:30:00")
	require.True(t, d.Shifted, "as the policy has it")
	require.Equal(t, story.At("21:00:00"), d.At)
	s.holds("18:00:00 18:00:00", "19:00:00 19:00:00", "20:00:00 20:00:00", "a 21:00:00")
	set(policy.UserSettings{})
	require.Equal(t, fault.CodeSendLimit, byPolicy("b", "17:00:00").Code, "the common one refuses")
	require.NoError(t, s.model.Follow(newPolicy(t, "test", func(*policy.Policy) {}, "5/calendar_day")))
	s.accepted("22:30:00")
}
