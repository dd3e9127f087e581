package sendlimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
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

func TestACategoryIsJudgedWithTheOverallRules(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, categoryOptions(t, "2/minute", "6/calendar_day"), func(u *user) {
		u.accepted("a", "10:00", "marketing")
		u.accepted("b", "10:30", "news")
		u.accepted("c", "10:30", "")
		d := u.submit("d", "10:30", "marketing")
		require.Equal(u, []string{"2/minute", "marketing 1/hour"}, brokenOf(d), "in one call")
		require.Equal(u, []keyspace.Reservation{{ID: "a", At: story.Ahead("10:00")}}, d.Violations[1].Conflicts, "its own alone")
		require.Equal(u, 1, d.Violations[1].ConflictsTotal)
		require.Equal(u, story.Ahead("11:00"), d.NextFree)
		require.Equal(u, story.Ahead("09:00"), d.PreviousFree)
		require.True(u, u.submit("d", "10:29", "news").Allowed, "marketing's rules are not the news'")

		u.accepted("e", "12:00", "marketing")
		d = u.submit("f", "18:00", "marketing")
		require.Equal(u, []string{"marketing 2/calendar_day"}, brokenOf(d))
		require.Equal(u, []keyspace.Reservation{{ID: "a", At: story.Ahead("10:00")}, {ID: "e", At: story.Ahead("12:00")}}, d.Violations[0].Conflicts)
		require.Equal(u, story.Ahead("00:00"), d.Violations[0].From)
		require.Equal(u, story.Ahead("23 00:00"), d.Violations[0].Until)
		require.Equal(u, story.Ahead("23 00:00"), d.NextFree)
		require.Zero(u, d.PreviousFree)
		u.accepted("g", "18:00", "news")
		d = u.submit("h", "18:00", "marketing")
		require.Equal(u, []string{"6/calendar_day", "marketing 2/calendar_day"}, brokenOf(d))
	})
}

// The rules of the message's category apply to a move.
func TestAMoveIsJudgedByTheMessagesCategory(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, categoryOptions(t, "2/minute"), func(u *user) {
		u.accepted("a", "10:00", "marketing")
		u.accepted("b", "12:00", "marketing")
		u.accepted("n", "13:00", "news")
		d := u.move("b", "10:30", "b2")
		require.Equal(u, []string{"marketing 1/hour"}, brokenOf(d))
		require.Equal(u, story.Ahead("11:00"), d.NextFree, "its own place is not in its way")
		require.True(u, u.move("n", "10:30", "n2").Allowed)
		require.True(u, u.move("b", "11:00", "b3").Allowed)
	})
}

func TestFreeTimesAndUsageOfACategory(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, categoryOptions(t, "2/minute"), func(u *user) {
		u.accepted("a", "10:00", "marketing")
		u.accepted("n", "10:30", "news")
		next := func(category string) []time.Time {
			times, err := u.timeline.NextFree(u.Context(), sendlimit.NextFreeRequest{
				User: "alice", Category: category, From: story.Ahead("10:30"), Count: 3, Now: story.Ahead("00:00"),
			})
			require.NoError(u, err)
			return times
		}
		require.Equal(u, []time.Time{story.Ahead("11:00"), story.Ahead("23 00:00"), story.Ahead("23 01:00")}, next("marketing"), "each counts as marketing")
		require.Equal(u, []time.Time{story.Ahead("10:30"), story.Ahead("10:31"), story.Ahead("10:31")}, next("news"))
		require.Equal(u, []time.Time{story.Ahead("10:30"), story.Ahead("10:30"), story.Ahead("10:30")}, next("otp"))

		usage := func(category string) sendlimit.Usage {
			got, err := u.timeline.Usage(u.Context(), sendlimit.UsageRequest{
				User: "alice", Category: category, At: story.Ahead("10:00"), From: story.Ahead("10:00"), To: story.Ahead("12:00"), Now: story.Ahead("00:00"),
			})
			require.NoError(u, err)
			return got
		}
		got := usage("marketing")
		require.Equal(u, []sendlimit.RuleUsage{
			{Rule: policy.Rule{Limit: 2, Window: time.Minute}, Used: 1, From: story.Ahead("10:00"), Until: story.Ahead("10:01")},
			{Rule: policy.Rule{Limit: 2, Period: calendar.Day}, Category: "marketing", Used: 1, From: story.Ahead("00:00"), Until: story.Ahead("23 00:00")},
			{Rule: policy.Rule{Limit: 1, Window: time.Hour}, Category: "marketing", Used: 1, From: story.Ahead("10:00"), Until: story.Ahead("11:00")},
		}, got.Rules)
		require.Equal(u, []calendar.Stretch{{From: story.Ahead("11:00"), Until: story.Ahead("12:00")}}, got.Free)
		require.Len(u, usage("").Rules, 1)
		require.Empty(u, usage("otp").Rules)
		require.Equal(u, []calendar.Stretch{{From: story.Ahead("10:00"), Until: story.Ahead("12:00")}}, usage("otp").Free)
	})
}

// The usage of a category's rule has the stretches that its own messages leave.
func TestUsageOfACategory(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	o := categoryOptions(t, "9/minute")
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	reserve := func(id, when, category string) {
		d, err := timeline.Reserve(t.Context(), sendlimit.Request{
			User: "alice", ID: id, At: story.Ahead(when), Now: story.Ahead("00:00"), Category: category, Record: story.RecordOf(id, id),
		})
		require.NoError(t, err)
		require.True(t, d.Allowed, "%s: %+v", id, d)
	}
	for day := 23; day < 30; day++ {
		reserve(fmt.Sprint("news-", day), fmt.Sprint(day, " 12:00"), "news")
	}
	reserve("marketing", "27 18:00", "marketing")
	all := []calendar.Stretch{{From: story.Ahead("23 00:00"), Until: story.Ahead("30 00:00")}}
	for _, row := range []struct {
		why  string
		rule policy.Rule
		free []calendar.Stretch
	}{
		{"two on one day, the first of which is none", policy.Rule{Limit: 2, Period: calendar.Day}, all},
		{"two within twelve hours", policy.Rule{Limit: 2, Window: 12 * time.Hour}, all},
		{"never three within a day", policy.Rule{Limit: 3, Window: 24 * time.Hour}, all},
		{"each day may have one", policy.Rule{Limit: 1, Period: calendar.Day}, []calendar.Stretch{
			{From: story.Ahead("23 00:00"), Until: story.Ahead("27 00:00")}, {From: story.Ahead("28 00:00"), Until: story.Ahead("30 00:00")},
		}},
		{"each may be one", policy.Rule{Limit: 1, Window: time.Hour}, []calendar.Stretch{
			{From: story.Ahead("23 00:00"), Until: story.Ahead("27 17:00:00.001")}, {From: story.Ahead("27 19:00"), Until: story.Ahead("30 00:00")},
		}},
	} {
		p := story.PolicyOf(t, "9/minute")
		p.Categories = map[string]policy.CategoryRules{"marketing": {Rules: []policy.Rule{row.rule}}}
		require.NoError(t, o.Rules.Replace(p))
		usage, err := timeline.Usage(t.Context(), sendlimit.UsageRequest{
			User: "alice", Category: "marketing", At: story.Ahead("2026-12-24T12:00:00Z"),
			From: story.Ahead("23 00:00"), To: story.Ahead("30 00:00"), Now: story.Ahead("00:00"),
		})
		require.NoError(t, err)
		require.Equal(t, row.free, usage.Free, row.why)
	}
}

func TestExemptMessages(t *testing.T) {
	t.Parallel()
	p := categoryPolicy(t, "1/hour")
	p.QuietHours = story.QuietHours(t, "22:00-08:00")
	o := sendlimit.Options{Rules: story.RulesBy(t, p), Records: true}
	keys := story.KeysOf(o)
	runOnEachStore(t, o, func(u *user) {
		u.accepted("n", "10:00", "")
		u.accepted("code", "10:00", "otp")
		u.accepted("night", "23:00", "otp")
		u.accepted("probe", "10:01", "probe")
		require.Equal(u, []string{"code 10:00:00", "n 10:00:00", "night 23:00:00"}, u.places(keys.Timeline("alice")))
		require.Equal(u, []string{"probe 10:01:00"}, u.places(keys.Uncounted("alice")))
		require.Positive(u, u.client.PTTL(u.Context(), keys.Uncounted("alice")).Val())

		require.Equal(u, 2, u.submit("x", "10:30", "").Violations[0].ConflictsTotal, "what is exempt counts, unless it does not")
		require.True(u, u.submitAgain("probe", "10:01", "probe").Replayed)
		require.True(u, u.move("probe", "10:00", "p2").Allowed)
		require.True(u, u.move("code", "10:00:01", "c2").Allowed)
		require.Equal(u, []string{"probe 10:00:00"}, u.places(keys.Uncounted("alice")))
		require.Equal(u, fault.CodeInPast, u.submit("y", "2026-11-21T00:00:00Z", "otp").Code)
		u.setSettings(policy.UserSettings{Blocked: true})
		require.Equal(u, fault.CodeBlocked, u.submit("y", "10:00", "otp").Code, "nothing is exempt from being blocked")
	})
}

// The current category of a message decides whether its place counts.
func TestAPlaceFollowsTheCategory(t *testing.T) {
	t.Parallel()
	o := categoryOptions(t, "1/hour")
	keys := story.KeysOf(o)
	runOnEachStore(t, o, func(u *user) {
		u.accepted("probe", "10:00", "probe")
		u.accepted("news", "12:00", "news")
		p := o.Rules.Policies()[0]
		p.Categories = map[string]policy.CategoryRules{"news": {Exempt: true, Uncounted: true}}
		u.under(p)
		require.Equal(u, fault.CodeSendLimit, u.move("probe", "12:00", "p2").Code, "it is judged by now")
		require.True(u, u.move("probe", "10:30", "p3").Allowed)
		require.True(u, u.move("news", "10:30", "n2").Allowed)
		require.Equal(u, []string{"probe 10:30:00"}, u.places(keys.Timeline("alice")))
		require.Equal(u, []string{"news 10:30:00"}, u.places(keys.Uncounted("alice")))
		z, err := u.client.HGet(u.Context(), keys.Record("alice", "news"), "z").Result()
		require.NoError(u, err)
		require.Equal(u, "1", z)
		require.ErrorIs(u, u.client.HGet(u.Context(), keys.Record("alice", "probe"), "z").Err(), redis.Nil)
	})
}

// A dry run judges by categories too: by those of stored messages and of the
// messages that it accepted itself.
func TestARehearsalOfCategories(t *testing.T) {
	t.Parallel()
	o := categoryOptions(t, "9/minute")
	runOnEachStore(t, o, func(u *user) {
		u.accepted("a", "10:00", "marketing")
		u.setSettings(policy.UserSettings{Limits: []policy.Rule{{Limit: 3, Window: time.Minute}}})
		rehearsal := u.timeline.Rehearse(u.client)
		try := func(id, when, category string) sendlimit.Decision {
			d, err := rehearsal.Reserve(u.Context(), u.request(id, when, category))
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

		require.NoError(u, rehearsal.Clear(u.Context()))
		require.True(u, try("g", "12:00", "marketing").Allowed, "b is forgotten")
		require.NoError(u, rehearsal.Close(u.Context()))
		require.NoError(u, rehearsal.Close(u.Context()), "twice does no harm")
		keys, err := u.client.Keys(u.Context(), "sl-dry-*").Result()
		require.NoError(u, err)
		require.Empty(u, keys)
	})
}

// If a category gets rules, messages that were accepted before count.
func TestACategoryThatGetsRulesLater(t *testing.T) {
	t.Parallel()
	o := settingsOptions(t, "9/minute")
	runOnEachStore(t, o, func(u *user) {
		u.accepted("a", "10:00", "marketing")
		u.accepted("b", "11:00", "marketing")
		u.under(categoryPolicy(t, "9/minute"))
		require.Equal(u, []string{"marketing 2/calendar_day"}, brokenOf(u.submit("c", "18:00", "marketing")))
		require.True(u, u.submit("c", "18:00", "").Allowed)
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
		require.EqualError(u, err, `category "news" is not allowed: it takes the same as the record's, which is "marketing"`)
	})
}

func TestCategoriesNeedRecords(t *testing.T) {
	t.Parallel()
	o := categoryOptions(t, "1/minute")
	o.Records = false
	_, err := sendlimit.NewTimeline(nil, o)
	require.EqualError(t, err, `categories "test" is not allowed: it takes none without records: what category a message is of stands there`)
	s := story.New(t, "1/minute")
	require.NoError(t, s.Options.Rules.Replace(categoryPolicy(t, "1/minute")))
	_, err = s.Timeline.Usage(t.Context(), sendlimit.UsageRequest{User: "alice"})
	require.ErrorContains(t, err, `categories "test" is not allowed`, "nor may rules get any that are in use")
}

// A policy with categories refuses new messages of any other: a mistyped name would
// bypass the rules of its category.
func TestUnknownCategories(t *testing.T) {
	t.Parallel()
	p := categoryPolicy(t, "1/minute")
	p.UnknownCategories = ""
	runOnEachStore(t, sendlimit.Options{Rules: story.RulesBy(t, p), Records: true}, func(u *user) {
		u.under(p)
		u.accepted("a", "10:00", "")
		known := []string{"marketing", "otp", "probe"}
		for _, shift := range []bool{false, true} {
			for _, at := range []string{"10:00", "11:00"} { // taken, and free
				r := u.request("b", at, "marketing2")
				r.Shift = shift
				require.Equal(u, sendlimit.Decision{
					Code: fault.CodeUnknownCategory, At: story.Ahead(at), Categories: known, Now: r.Now,
				}, u.ask(r))
			}
		}
		past := u.request("b", "11:00", "marketing2")
		past.At = past.Now.Add(-time.Hour)
		require.Equal(u, fault.CodeInPast, u.ask(past).Code, "the clock comes first")
		u.setSettings(policy.UserSettings{Blocked: true})
		require.Equal(u, fault.CodeBlocked, u.submit("b", "11:00", "marketing2").Code)
		u.setSettings(policy.UserSettings{TimeZone: "Asia/Tokyo"})
		require.Equal(u, fault.CodeUnknownCategory, u.submit("b", "11:00", "marketing2").Code)
	})
}

// What was accepted before is found and moved under rules that refuse its category.
func TestACategoryThatIsNoLongerKnown(t *testing.T) {
	t.Parallel()
	p := categoryPolicy(t, "1/minute")
	runOnEachStore(t, sendlimit.Options{Rules: story.RulesBy(t, p), Records: true}, func(u *user) {
		u.under(p)
		u.accepted("a", "10:00", "news")
		refusing := p
		refusing.UnknownCategories = policy.RefuseUnknown
		u.under(refusing)
		require.True(u, u.submitAgain("a", "10:00", "news").Replayed)
		require.Equal(u, fault.CodeUnknownCategory, u.submit("b", "10:05", "news").Code)
		require.True(u, u.move("a", "10:10", "g2").Allowed)
	})
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
