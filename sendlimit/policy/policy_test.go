package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestPolicyEqual(t *testing.T) {
	t.Parallel()
	parsed := story.PolicyOf(t, "1/day", "2/week")
	spelled := parsed
	spelled.TimeZone, spelled.AlertAt, spelled.OnConflict = "UTC", []int{80, 100}, policy.Refuse
	spelled.Categories, spelled.Version = map[string]policy.CategoryRules{}, 7
	require.True(t, parsed.Equal(spelled))
	full, again := story.FullPolicy(t), story.FullPolicy(t)
	require.True(t, full.Equal(again))
	again.QuietHours = story.QuietHours(t, "mon-fri 22:00-07:30", "sun 00:00-24:00", "sat 00:00-24:00")
	require.True(t, full.Equal(again), "the same hours in other words")

	category := func(c policy.CategoryRules) func(*policy.Policy) {
		return func(p *policy.Policy) {
			categories := map[string]policy.CategoryRules{"marketing": c}
			for _, name := range []string{"otp", "invoices"} {
				categories[name] = p.Categories[name]
			}
			p.Categories = categories
		}
	}
	for i, change := range []func(*policy.Policy){
		func(p *policy.Policy) { p.Name = "other" },
		func(p *policy.Policy) { p.TimeZone = "Europe/Paris" },
		func(p *policy.Policy) { p.UserTimeZone = false },
		func(p *policy.Policy) { p.Rules = p.Rules[:1] },
		func(p *policy.Policy) { p.QuietHours = policy.WeekHours{} },
		func(p *policy.Policy) { p.QuietHours = story.QuietHours(t, "22:00-08:00") },
		func(p *policy.Policy) { p.Reach = 0 },
		func(p *policy.Policy) { p.OnConflict = "" },
		func(p *policy.Policy) { p.Categories = nil },
		category(policy.CategoryRules{Exempt: true}),
		category(policy.CategoryRules{Exempt: true, Uncounted: true}),
		category(policy.CategoryRules{Rules: full.Categories["marketing"].Rules[:1]}),
		func(p *policy.Policy) { p.AlertAt = []int{} },
		func(p *policy.Policy) { p.AlertTo = "" },
		func(p *policy.Policy) { p.UnknownCategories = "" },
	} {
		other := full
		change(&other)
		require.False(t, full.Equal(other), i)
		require.NotEqual(t, full.String()+full.Name, other.String()+other.Name, i)
	}
}

// Errors name the field, the value and what is allowed.
func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	categories := func(list map[string]policy.CategoryRules) func(*policy.Policy) {
		return func(p *policy.Policy) { p.Categories = list }
	}
	minute := []policy.Rule{{Limit: 1, Window: time.Minute}}
	many := make(map[string]policy.CategoryRules)
	for i := range policy.MaxCategories + 1 {
		many[fmt.Sprintf("c%d", i)] = policy.CategoryRules{Exempt: true}
	}
	var crowd []policy.Rule
	for i := range policy.MaxRules + 1 {
		crowd = append(crowd, policy.Rule{Limit: i + 1, Window: time.Hour})
	}
	long := strings.Repeat("a", 65)
	for _, row := range []struct {
		change             func(*policy.Policy)
		field, value, want string
	}{
		{func(p *policy.Policy) { p.Rules = crowd }, "rules", "", "rules has 51 rules: at most 50 are allowed"},
		{func(p *policy.Policy) { p.Rules = []policy.Rule{{Window: time.Minute}} }, "rule", "0/minute", "a limit of 1 to 1000"},
		{func(p *policy.Policy) { p.Reach = 500 * time.Millisecond }, "reach", "500ms", "1s to 366d in whole seconds, such as 30d, 36h or 90m"},
		{func(p *policy.Policy) { p.Reach = -time.Hour }, "reach", "-1h0m0s", "1s to 366d in whole seconds, such as 30d, 36h or 90m"},
		{func(p *policy.Policy) { p.Reach = 367 * 24 * time.Hour }, "reach", "8808h0m0s", "1s to 366d in whole seconds, such as 30d, 36h or 90m"},
		{
			func(p *policy.Policy) { p.ShiftSpread = 25 * time.Hour },
			"shift_spread", "25h0m0s", "a length of time from 0s, for none, to 1d in whole seconds, such as 30m",
		},
		{
			categories(map[string]policy.CategoryRules{"codes": {Exempt: true, ShiftSpread: new(time.Hour)}}),
			"categories.codes", "1h", "categories.codes has shift_spread and exempt: true: an exempt message is sent at any time, so give one of the two",
		},
		{func(p *policy.Policy) { p.OnConflict = "drop" }, "on_conflict", "drop", "refuse or shift"},
		{categories(many), "categories", "", "there are 101 categories: a policy has at most 100"},
		{categories(map[string]policy.CategoryRules{"": {Rules: minute}}), "categories", "", "a name of 1 to 64 of a-z 0-9 _ -"},
		{categories(map[string]policy.CategoryRules{"all": {Rules: minute}}), "categories", "all", "another name: it stands for all categories in the opt_out of a user"},
		{categories(map[string]policy.CategoryRules{"Ads": {Rules: minute}}), "categories", "Ads", "a name of 1 to 64 of a-z 0-9 _ -"},
		{categories(map[string]policy.CategoryRules{long: {Rules: minute}}), "categories", long, "a name of 1 to 64 of a-z 0-9 _ -"},
		{
			categories(map[string]policy.CategoryRules{"ads": {}}),
			"categories.ads", "{}", "categories.ads needs at least one rule, such as 2/calendar_day, or quiet_hours, only or blackouts, or shift_spread, or a throttle, or exempt: true",
		},
		{
			categories(map[string]policy.CategoryRules{"ads": {Exempt: true, Accounts: []string{"acme", "A"}}}),
			"categories.ads.accounts", "A", "a name of 1 to 64 of a-z 0-9 _ -",
		},
		{
			categories(map[string]policy.CategoryRules{"ads": {Exempt: true, Accounts: []string{"acme", "acme"}}}),
			"categories.ads.accounts", "acme", "each account once",
		},
		{
			categories(map[string]policy.CategoryRules{"ads": {Exempt: true, Accounts: make([]string, 101)}}),
			"categories.ads.accounts", "", "categories.ads.accounts has 101 accounts: a category names at most 100",
		},
		{
			categories(map[string]policy.CategoryRules{"ads": {Exempt: true, Rules: minute}}),
			"categories.ads", "1/minute", "categories.ads has rules and exempt: true: an exempt message is judged by no rule, so give one of the two",
		},
		{
			categories(map[string]policy.CategoryRules{"ads": {Uncounted: true, Rules: minute}}),
			"categories.ads.counts", "false", "categories.ads has counts: false without exempt: true: messages that are judged also count",
		},
		{
			categories(map[string]policy.CategoryRules{"ads": {Rules: append(minute, minute...)}}),
			"categories.ads.rules", "1/minute", "categories.ads.rules has the rule 1/minute twice",
		},
		{
			categories(map[string]policy.CategoryRules{"ads": {Rules: []policy.Rule{{Limit: 1001, Window: time.Hour}}}}),
			"categories.ads.rules", "1001/hour", "a limit of 1 to 1000",
		},
		{categories(map[string]policy.CategoryRules{"ads": {Rules: crowd}}), "categories.ads.rules", "", "categories.ads.rules has 51 rules: at most 50 are allowed"},
	} {
		policy := story.PolicyOf(t, "1/day")
		row.change(&policy)
		require.Equal(t, row.want, story.Invalid(t, policy.Validate(), row.field, row.value))
	}
}

// Every error is reported once. Rules that cannot be parsed are not also
// reported as missing.
func TestEverythingThatIsWrongWithAPolicy(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "1/day", "2/day")
	p.Reach, p.OnConflict, p.AlertTo = -1, "drop", "ada"
	require.Equal(t, []string{"reach", "on_conflict", "alert_to"}, wrongFields(t, p.Validate()))
	_, err := policy.Document{
		Rules: []string{"often", "always"}, QuietHours: []string{"at night", "22:00-08:00"}, Reach: "30", TimeZone: "Local",
		Categories: map[string]policy.CategoryDocument{"a": {Rules: []string{"x"}}, "b": {Rules: []string{"1/day", "2/day", "2/day"}}},
	}.Policy()
	require.Equal(t, []string{
		"rules", "rules", "quiet_hours", "reach", "categories.a.rules", "policy", "categories.b.rules", "time_zone", "categories.b.rules",
	}, wrongFields(t, err))
	var first *fault.InvalidError
	require.ErrorAs(t, err, &first)
	require.Equal(t, "often", first.Value)

	err = fault.InvalidErrors{{Field: "a", Value: "1", Want: "2"}, {Field: "b", Want: "3"}}
	require.EqualError(t, err, `a "1" is not allowed: use 2; b "" is not allowed: use 3`)
}

func wrongFields(t *testing.T, err error) []string {
	t.Helper()
	var wrong fault.InvalidErrors
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, fault.CodeInvalidField, wrong.Code())
	var fields []string
	for _, one := range wrong {
		fields = append(fields, one.Field)
	}
	return fields
}

// Documents are refused for the same reasons, and for values that cannot be
// parsed.
func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		document     policy.Document
		field, value string
	}{
		{policy.Document{Name: "P", Rules: []string{"1/day"}}, "policy", "P"},
		{policy.Document{Name: "p"}, "rules", "[]"},
		{policy.Document{Name: "p", Rules: []string{"soon"}}, "rules", "soon"},
		{policy.Document{Name: "p", Rules: []string{"1/day"}, TimeZone: "Mars/Olympus"}, "time_zone", "Mars/Olympus"},
		{policy.Document{Name: "p", Rules: []string{"1/day"}, QuietHours: []string{"00:00-24:00"}}, "quiet_hours", "00:00-24:00"},
		{policy.Document{Name: "p", Rules: []string{"1/day"}, QuietHours: []string{"at night"}}, "quiet_hours", "at night"},
		{policy.Document{Name: "p", Rules: []string{"1/day"}, Reach: "400d"}, "reach", "400d"},
		{policy.Document{Name: "p", Rules: []string{"1/day"}, Reach: "0s"}, "reach", "0s"},
		{
			policy.Document{
				Name: "p", Rules: []string{"1/day"},
				Categories: map[string]policy.CategoryDocument{"ads": {Rules: []string{"often"}}},
			}, "categories.ads.rules", "often",
		},
		{
			policy.Document{
				Name: "p", Rules: []string{"1/day"},
				Categories: map[string]policy.CategoryDocument{"otp": {Counts: new(bool)}},
			}, "categories.otp.counts", "false",
		},
		{policy.Document{Name: "p", Rules: []string{"1/day"}, AlertAt: []int{0}}, "alert_at", "0"},
	} {
		p, err := row.document.Policy()
		require.NotEmpty(t, story.Invalid(t, err, row.field, row.value))
		require.Equal(t, policy.Policy{}, p)
	}
}

func TestReadLate(t *testing.T) {
	t.Parallel()
	perMinute := policy.Rule{Limit: 1, Window: time.Minute}
	for reason, want := range map[string]policy.Late{
		"late":                     {},
		"late quiet":               {QuietHours: true},
		"late disturb":             {DoNotDisturb: true},
		"late 1 60000":             {InTheWay: perMinute},
		"late 1 60000 marketing":   {InTheWay: perMinute, Category: "marketing"},
		"late 10 -3":               {InTheWay: policy.Rule{Limit: 10, Period: calendar.Day}},
		"late 1":                   {}, // what can't be read
		"late 0 60000":             {},
		"late 1 -9 marketing":      {},
		"late one 60000 marketing": {},
		"late 1 soon":              {},
	} {
		late, ok := policy.ReadLate(reason)
		require.True(t, ok, reason)
		require.Equal(t, want, late, reason)
	}
	for _, reason := range []string{"", "expired", "later", "latequiet"} {
		_, ok := policy.ReadLate(reason)
		require.False(t, ok, reason)
	}
}
