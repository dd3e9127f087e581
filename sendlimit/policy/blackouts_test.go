package policy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestBlackoutsThatAreRefused(t *testing.T) {
	t.Parallel()
	const date = "a date such as 2027-01-01, 12-25 for every year, a range such as 2027-04-02..2027-04-05," +
		" or the name of a calendar of the policy"
	for written, want := range map[string]string{
		"": date, "2027-13-01": date, "2027-02-29": date, "12-32": date, "02-30": date, "2027-1-1": date, "1-1": date, "0027-01-01": date,
		"2027-04-02..": date, "..2027-04-05": date, "2027-04-02..04-05": date, "04-02..2027-04-05": date,
		"2027-04-02...2027-04-05": date, "2027-04-02-2027-04-05": date, "2027-04-02 ": date, "Holidays": date, "my holidays": date,
		"2027-04-05..2027-04-02": "a range that ends on a later day than it begins",
		"2027-01-01..2028-01-02": "a range of at most 366 days",
	} {
		_, err := policy.ParseBlackouts("12-25", written)
		require.Equal(t, want, story.Invalid(t, err, "blackouts", written), written)
	}
	_, err := policy.ParseBlackouts(slices.Repeat([]string{"12-25"}, policy.MaxBlackouts+1)...)
	require.Equal(t, "blackouts has 101 lines: at most 100 are allowed", story.Invalid(t, err, "blackouts", ""))
	for _, year := range [][]string{{"01-01..12-31"}, {"01-01..06-30", "07-01..12-31"}, {"02-01..01-31"}, {"03-01..02-28"}, {"03-01..02-29"}} {
		_, err = policy.ParseBlackouts(year...)
		require.ErrorContains(t, err, "leaves no day of the year", year)
	}
	_, err = policy.ParseBlackouts("01-02..12-31")
	require.NoError(t, err, "New Year's Day is left")
	_, err = policy.ParseBlackouts("2028-01-01..2028-12-31")
	require.NoError(t, err, "one year, which has 366 days")
}

// A policy names its calendars, and each list leaves a day.
func TestBlackoutsOfAPolicy(t *testing.T) {
	t.Parallel()
	good := policy.Document{
		Name: "p", Rules: []string{"1/day"}, Only: []string{"09:00-20:00"},
		Blackouts: []string{"holidays", "2027-01-01", "12-24..12-26"},
		Calendars: map[string][]string{"holidays": {"05-01", "10-03"}, "closed": {}},
		Categories: map[string]policy.CategoryDocument{
			"news": {Blackouts: []string{}, Only: []string{}, QuietHours: []string{"mon-fri 22:00-07:30"}}, "offers": {Rules: []string{"1/hour"}},
		},
	}
	p, err := good.Policy()
	require.NoError(t, err)
	require.Equal(t, good, p.Document())
	require.Equal(t, "1/day, news quiet mon-fri 22:00-07:30 and at all hours and no blackouts, offers 1/hour, only 09:00-20:00,"+
		" never on holidays and 2027-01-01 and 12-24..12-26", p.String())
	other := good
	other.Calendars = map[string][]string{"holidays": {"05-01"}, "closed": {}}
	changed, err := other.Policy()
	require.NoError(t, err)
	require.False(t, changed.Equal(p))

	for _, row := range []struct {
		says   string
		change func(d *policy.Document)
	}{
		{"blackouts names the calendar feasts, which is not in calendars", func(d *policy.Document) { d.Blackouts = []string{"feasts"} }},
		{"categories.news.blackouts names the calendar feasts", func(d *policy.Document) {
			d.Categories = map[string]policy.CategoryDocument{"news": {Blackouts: []string{"feasts"}}}
		}},
		{`calendars "2holidays" is not allowed`, func(d *policy.Document) { d.Calendars["2holidays"] = nil }},
		{`calendars.closed "holidays" is not allowed: use dates only`, func(d *policy.Document) { d.Calendars["closed"] = []string{"holidays"} }},
		{"leaves no day of the year", func(d *policy.Document) {
			d.Calendars["closed"] = []string{"01-01..06-30"}
			d.Blackouts = []string{"closed", "07-01..12-31"}
		}},
		{"only 22:00-07:00 is entirely within the quiet hours 21:00-08:00", func(d *policy.Document) {
			d.Only, d.QuietHours = []string{"22:00-07:00"}, []string{"21:00-08:00"}
		}},
		{"categories.news.only 09:00-20:00 is entirely within the quiet hours 08:00-21:00", func(d *policy.Document) {
			d.Categories = map[string]policy.CategoryDocument{"news": {QuietHours: []string{"08:00-21:00"}}}
		}},
		{"categories.news has quiet times and exempt: true", func(d *policy.Document) {
			d.Categories = map[string]policy.CategoryDocument{"news": {Exempt: true, Blackouts: []string{"12-25"}}}
		}},
		{`only "soon" is not allowed`, func(d *policy.Document) { d.Only = []string{"soon"} }},
		{`categories.news.only "soon" is not allowed`, func(d *policy.Document) {
			d.Categories = map[string]policy.CategoryDocument{"news": {Only: []string{"soon"}}}
		}},
	} {
		bad := good
		bad.Calendars = map[string][]string{"holidays": {"05-01", "10-03"}, "closed": {}}
		row.change(&bad)
		_, err := bad.Policy()
		require.ErrorContains(t, err, row.says)
	}
}

// A user's own settings come back as they were set, and are checked with the policy.
func TestOwnCategoriesAndQuietHours(t *testing.T) {
	t.Parallel()
	s := policy.UserSettings{
		Categories: map[string][]policy.Rule{"news": story.LimitsOf(t, "1/calendar_week", "3/calendar_month"), "ads": story.LimitsOf(t, "1/day")},
		OptOut:     []string{"offers", "surveys"}, QuietHours: story.QuietHours(t, "sat,sun 00:00-24:00", "21:00-09:00"),
		DoNotDisturbUntil: story.At("12:00"),
	}
	fields := []string{"contact", "policy", "limits", "zone", "blocked", "quiet", "categories", "out", "disturb"}
	values := make(map[string]string)
	stored := s.Stored()
	for i, field := range fields {
		values[field], _ = stored[i].(string)
	}
	again, err := policy.ReadSettings(values)
	require.NoError(t, err)
	require.Equal(t, s, again)
	require.True(t, s.Equal(again))
	require.NotEqual(t, s.RulesKey(), policy.UserSettings{OptOut: s.OptOut}.RulesKey())

	p := story.PolicyOf(t, "1/hour")
	p.Categories = map[string]policy.CategoryRules{"news": {Rules: story.LimitsOf(t, "2/calendar_week")}, "otp": {Exempt: true}}
	own := p.For(s)
	require.Equal(t, story.LimitsOf(t, "1/calendar_week", "3/calendar_month"), own.Categories["news"].Rules)
	require.NotContains(t, own.Categories, "ads", "the policy refuses it")
	require.ErrorContains(t, p.CheckSettings(s), "policy test refuses category ads")
	p.UnknownCategories = policy.AllowUnknown
	require.NoError(t, p.CheckSettings(s))
	require.Equal(t, story.LimitsOf(t, "1/day"), p.For(s).Categories["ads"].Rules)
	require.Len(t, p.Categories, 2, "the policy itself stays")
	open := story.PolicyOf(t, "1/hour").For(s)
	require.False(t, open.RefusesCategory("any"), "a user's rules of a category refuse no other")

	for says, wrong := range map[string]policy.UserSettings{
		"category otp is exempt under policy test":      {Categories: map[string][]policy.Rule{"otp": story.LimitsOf(t, "1/day")}},
		"leave no time of the week together with those": {QuietHours: story.QuietHours(t, "08:00-21:00")},
	} {
		p.QuietHours = story.QuietHours(t, "20:00-09:00")
		require.ErrorContains(t, p.CheckSettings(wrong), says)
	}
	for says, wrong := range map[string]policy.UserSettings{
		`opt_out "No!" is not allowed`:             {OptOut: []string{"No!"}},
		"opt_out names the category ads twice":     {OptOut: []string{"ads", "ads"}},
		`categories "No!" is not allowed`:          {Categories: map[string][]policy.Rule{"No!": story.LimitsOf(t, "1/day")}},
		"categories.ads needs at least one rule":   {Categories: map[string][]policy.Rule{"ads": nil}},
		"has the same window as another limit":     {Categories: map[string][]policy.Rule{"ads": story.LimitsOf(t, "1/day", "2/day")}},
		"opt_out names 101 categories: a user has": {OptOut: make([]string, 101)},
	} {
		err := wrong.Validate()
		require.ErrorContains(t, err, says)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid)
	}
}
