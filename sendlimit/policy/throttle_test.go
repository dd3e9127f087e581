package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestThrottlesAreReadAsTheyAreSpelled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]policy.Throttle{
		"":               {},
		"1/minute":       {Limit: 1, Period: calendar.Minute},
		"1000000/hour":   {Limit: 1_000_000, Period: calendar.Hour},
		"1000000/minute": {Limit: 1_000_000, Period: calendar.Minute},
	} {
		read, err := policy.ParseThrottle(text)
		require.NoError(t, err, text)
		require.Equal(t, want, read)
		require.Equal(t, text, read.String())
	}
	for _, text := range []string{
		"0/minute", "1000001/minute", "-1/hour", "+5/hour", "05/hour", " 5/hour", "5/day", "5/calendar_hour", "5/60s", "5/none", "5/", "5", "/minute", "/", "0/none",
	} {
		_, err := policy.ParseThrottle(text)
		require.EqualError(t, err,
			`throttle "`+text+`" is not allowed: use 1 to 1000000 a minute or an hour, such as 500/minute or 10000/hour`)
	}
}

func TestAThrottleCountsNaturalPeriodsOfUTC(t *testing.T) {
	t.Parallel()
	minute, hour := policy.Throttle{Limit: 1, Period: calendar.Minute}, policy.Throttle{Limit: 1, Period: calendar.Hour}
	kolkata := time.FixedZone("", 5*3600+1800)
	at := time.Date(2026, 11, 22, 12, 34, 59, 999e6, kolkata)
	require.Equal(t, calendar.Stretch{From: story.At("07:04"), Until: story.At("07:05")}, minute.Around(at))
	require.Equal(t, calendar.Stretch{From: story.At("07:00"), Until: story.At("08:00")}, hour.Around(at))
	require.Equal(t, story.At("07:05"), minute.Around(story.At("07:05")).From, "a period has its first moment, and not its last")
}

func TestThrottleOfACategory(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.Categories = map[string]policy.CategoryRules{
		"marketing": {Throttle: policy.Throttle{Limit: 500, Period: calendar.Minute}},
		"news":      {Throttle: policy.Throttle{Limit: 500, Period: calendar.Hour}},
		"otp":       {Exempt: true},
	}
	require.NoError(t, p.Validate(), "a category may have a throttle and nothing else")
	require.Equal(t, "1/minute, marketing 500/minute over all users, news 500/hour over all users, otp exempt", p.String())
	names := map[string]bool{}
	other := p
	other.Name = "other"
	for _, q := range []policy.Policy{p, other} {
		require.True(t, q.ThrottleOf("").IsZero())
		require.Zero(t, q.ThrottleOf("otp"))
		require.Zero(t, q.ThrottleOf("unknown"))
		for _, category := range []string{"marketing", "news"} {
			names[q.ThrottleOf(category).Name] = true
		}
	}
	require.Len(t, names, 4, "policies and categories have counters of their own")
	before := p.ThrottleOf("marketing")
	own := p.For(policy.UserSettings{Categories: map[string][]policy.Rule{"marketing": {{Limit: 1, Window: time.Hour}}}})
	require.Equal(t, before, own.ThrottleOf("marketing"), "a user's own rules leave the throttle")
	require.False(t, p.Equal(own))
	changed := p
	changed.Categories = map[string]policy.CategoryRules{
		"marketing": {Throttle: policy.Throttle{Limit: 501, Period: calendar.Minute}}, "news": p.Categories["news"], "otp": p.Categories["otp"],
	}
	require.False(t, p.Equal(changed))
	require.Equal(t, before.Name, changed.ThrottleOf("marketing").Name, "another limit counts on")
	changed.Categories["marketing"] = policy.CategoryRules{Throttle: policy.Throttle{Limit: 500, Period: calendar.Hour}}
	require.NotEqual(t, before.Name, changed.ThrottleOf("marketing").Name)

	again, err := p.Document().Policy()
	require.NoError(t, err)
	require.Equal(t, p, again)
}

func TestThrottlesThatAreRefused(t *testing.T) {
	t.Parallel()
	refused := func(c policy.CategoryDocument, want string) {
		t.Helper()
		_, err := policy.Document{Name: "p", Rules: []string{"1/minute"}, Categories: map[string]policy.CategoryDocument{"ads": c}}.Policy()
		require.EqualError(t, err, want)
	}
	refused(policy.CategoryDocument{Throttle: "500/day"},
		`categories.ads.throttle "500/day" is not allowed: use 1 to 1000000 a minute or an hour, such as 500/minute or 10000/hour`)
	refused(policy.CategoryDocument{Exempt: true, Throttle: "500/minute"},
		"categories.ads has a throttle and exempt: true: an exempt message is sent at any time, so give one of the two")
	p := story.PolicyOf(t, "1/minute")
	p.Categories = map[string]policy.CategoryRules{"ads": {Throttle: policy.Throttle{Limit: 5, Period: calendar.Day}}}
	require.EqualError(t, p.Validate(),
		`categories.ads.throttle "5/day" is not allowed: use 1 to 1000000 a minute or an hour, such as 500/minute or 10000/hour`)
}
