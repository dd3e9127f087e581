package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// categoryOptions returns options with three categories: marketing has its own
// rule, otp is exempt, and probe is exempt and does not count.
func categoryOptions(t *testing.T, rules ...string) sendlimit.Options {
	t.Helper()
	return sendlimit.Options{Rules: story.RulesBy(t, categoryPolicy(t, rules...)), Records: true}
}

// categoryPolicy returns the policy of categoryOptions.
func categoryPolicy(t *testing.T, rules ...string) policy.Policy {
	t.Helper()
	p := story.PolicyOf(t, rules...)
	p.UnknownCategories = policy.AllowUnknown
	p.Categories = map[string]policy.CategoryRules{
		"marketing": {Rules: []policy.Rule{{Limit: 2, Period: calendar.Day}, {Limit: 1, Window: time.Hour}}},
		"otp":       {Exempt: true},
		"probe":     {Exempt: true, Uncounted: true},
	}
	return p
}

// brokenOf lists the rules that a request would break, with their categories.
func brokenOf(d sendlimit.Decision) []string {
	var rules []string
	for _, v := range d.Violations {
		name := v.Rule.String()
		if v.Category != "" {
			name = v.Category + " " + name
		}
		rules = append(rules, name)
	}
	return rules
}

// A dry run judges by categories too: by those of stored messages and of the
// messages that it accepted itself.
func TestADryRunOfCategories(t *testing.T) {
	t.Parallel()
	o := categoryOptions(t, "9/minute")
	runOnEachStore(t, o, func(u *user) {
		u.accepted("a", "10:00", "marketing")
		u.setSettings(policy.UserSettings{Limits: []policy.Rule{{Limit: 3, Window: time.Minute}}})
		dryRun := u.timeline.StartDryRun(u.client)
		try := func(id, when, category string) sendlimit.Decision {
			d, err := dryRun.Reserve(u.Context(), u.request(id, when, category))
			require.NoError(u, err)
			return d
		}
		require.Equal(u, []string{"marketing 1/hour"}, brokenOf(try("b", "10:30", "marketing")), "by what is real")
		require.True(u, try("b", "12:00", "marketing").Allowed)
		require.Equal(u, []string{"marketing 2/calendar_day"}, brokenOf(try("c", "18:00", "marketing")), "by what was accepted, too")
		require.True(u, try("c", "12:00", "news").Allowed)
		require.True(u, try("d", "12:00", "otp").Allowed)
		require.True(u, try("e", "12:00", "probe").Allowed)
		require.Equal(u, []string{"3/minute"}, brokenOf(try("f", "12:00", "")), "by her own settings")

		require.NoError(u, dryRun.Clear(u.Context()))
		require.True(u, try("g", "12:00", "marketing").Allowed, "b is forgotten")
		require.NoError(u, dryRun.Close(u.Context()))
		require.NoError(u, dryRun.Close(u.Context()), "twice does no harm")
		keys, err := u.client.Keys(u.Context(), "sl-dry-*").Result()
		require.NoError(u, err)
		require.Empty(u, keys)
	})
}

// Recorded sends of a category count for it. If the category does not count,
// they count nowhere.
func TestRecordedSendsOfACategory(t *testing.T) {
	t.Parallel()
	o := categoryOptions(t, "9/minute")
	runOnEachStore(t, o, func(u *user) {
		for i, category := range []string{"marketing", "marketing", "probe"} {
			id := category + string(rune('a'+i))
			record := story.RecordOf(id, id)
			record.Category = category
			recorded, err := u.timeline.RecordSent(u.Context(), sendlimit.SentRequest{
				User: "alice", ID: id, At: story.Ahead("2026-11-21T12:00:00Z").Add(time.Duration(i) * time.Hour),
				Now: story.Ahead("2026-11-21T16:00:00Z"), Record: record,
			})
			require.NoError(u, err)
			require.Empty(u, recorded.Code)
		}
		request := u.request("m", "2026-11-21T18:00:00Z", "marketing")
		request.Now = story.Ahead("2026-11-21T16:00:00Z")
		require.Equal(u, []string{"marketing 2/calendar_day"}, brokenOf(u.ask(request)))
		require.Equal(u, []string{"probec 14:00:00"}, u.places(story.KeysOf(o).Uncounted("alice")))
	})
}

func TestCategoriesOfARequest(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, categoryOptions(t, "9/minute"), func(u *user) {
		u.accepted("a", "10:00", "marketing") // which the record does not say
		category, err := u.client.HGet(u.Context(), story.KeysOf(sendlimit.Options{}).Record("alice", "a"), "k").Result()
		require.NoError(u, err)
		require.Equal(u, "marketing", category)
		r := u.request("b", "10:30", "")
		r.Record.Category = "marketing"
		require.Equal(u, []string{"marketing 1/hour"}, brokenOf(u.ask(r)))
		r.Category = "news"
		_, err = u.timeline.Reserve(u.Context(), r)
		require.EqualError(u, err, `category "news" is not allowed: use the same as the record's, which is "marketing"`)
	})
}

func TestCategoriesNeedRecords(t *testing.T) {
	t.Parallel()
	o := categoryOptions(t, "1/minute")
	o.Records = false
	_, err := sendlimit.NewTimeline(nil, o)
	require.EqualError(t, err, `categories "test" is not allowed: use none without records: only records have a category`)
	s := story.New(t, "1/minute")
	require.NoError(t, s.Options.Rules.Replace(categoryPolicy(t, "1/minute")))
	_, err = s.Timeline.Usage(t.Context(), sendlimit.UsageRequest{User: "alice"})
	require.ErrorContains(t, err, `categories "test" is not allowed`, "nor may rules get any that are in use")
}

// Rules that ignore users' settings refuse unknown categories, too. Without any
// category all are unknown.
func TestUnknownCategoriesUnderFixedRules(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.UnknownCategories = policy.RefuseUnknown
	rules, err := judge.NewFixed(p)
	require.NoError(t, err)
	s := story.TellMessages(t, sendlimit.Options{Rules: rules})
	for _, category := range []string{"news", ""} {
		d := s.Ask(sendlimit.Request{ID: "a", At: story.At("10:00"), Record: story.Categorized("g", category)})
		require.Equal(t, category == "", d.Allowed)
		require.Empty(t, d.Categories)
	}
}
