package sendlimit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

func TestPolicyEqual(t *testing.T) {
	t.Parallel()
	policy := policyOf(t, "1/day", "2/week")
	spelled := policy
	spelled.TimeZone, spelled.AlertAt, spelled.OnConflict = "UTC", []int{80, 100}, sendlimit.Refuse
	spelled.Categories, spelled.Version = map[string]sendlimit.CategoryRules{}, 7
	require.True(t, policy.Equal(spelled))
	full, again := fullPolicy(t), fullPolicy(t)
	require.True(t, full.Equal(again))
	again.QuietHours = quiet(t, "mon-fri 22:00-07:30", "sun 00:00-24:00", "sat 00:00-24:00")
	require.True(t, full.Equal(again), "the same hours in other words")

	category := func(c sendlimit.CategoryRules) func(*sendlimit.Policy) {
		return func(p *sendlimit.Policy) {
			categories := map[string]sendlimit.CategoryRules{"marketing": c}
			for _, name := range []string{"otp", "invoices"} {
				categories[name] = p.Categories[name]
			}
			p.Categories = categories
		}
	}
	for i, change := range []func(*sendlimit.Policy){
		func(p *sendlimit.Policy) { p.Name = "other" },
		func(p *sendlimit.Policy) { p.TimeZone = "Europe/Paris" },
		func(p *sendlimit.Policy) { p.UserTimeZone = false },
		func(p *sendlimit.Policy) { p.Rules = p.Rules[:1] },
		func(p *sendlimit.Policy) { p.QuietHours = sendlimit.QuietHours{} },
		func(p *sendlimit.Policy) { p.QuietHours = quiet(t, "22:00-08:00") },
		func(p *sendlimit.Policy) { p.Reach = 0 },
		func(p *sendlimit.Policy) { p.OnConflict = "" },
		func(p *sendlimit.Policy) { p.Categories = nil },
		category(sendlimit.CategoryRules{Exempt: true}),
		category(sendlimit.CategoryRules{Exempt: true, Uncounted: true}),
		category(sendlimit.CategoryRules{Rules: full.Categories["marketing"].Rules[:1]}),
		func(p *sendlimit.Policy) { p.AlertAt = []int{} },
		func(p *sendlimit.Policy) { p.AlertTo = "" },
	} {
		other := full
		change(&other)
		require.False(t, full.Equal(other), i)
		require.NotEqual(t, full.String()+full.Name, other.String()+other.Name, i)
	}
}

// Each bad policy is refused with the field, the value, and what is allowed.
func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	categories := func(list map[string]sendlimit.CategoryRules) func(*sendlimit.Policy) {
		return func(p *sendlimit.Policy) { p.Categories = list }
	}
	minute := []sendlimit.Rule{{Limit: 1, Window: time.Minute}}
	many := make(map[string]sendlimit.CategoryRules)
	for i := range sendlimit.MaxCategories + 1 {
		many[fmt.Sprintf("c%d", i)] = sendlimit.CategoryRules{Exempt: true}
	}
	var crowd []sendlimit.Rule
	for i := range sendlimit.MaxPolicyRules + 1 {
		crowd = append(crowd, sendlimit.Rule{Limit: i + 1, Window: time.Hour})
	}
	long := strings.Repeat("a", 65)
	for _, row := range []struct {
		change             func(*sendlimit.Policy)
		field, value, want string
	}{
		{func(p *sendlimit.Policy) { p.Rules = crowd }, "rules", "51 rules", "at most 50 rules"},
		{func(p *sendlimit.Policy) { p.Rules = []sendlimit.Rule{{Window: time.Minute}} }, "rule", "0/minute", "a limit of 1 to 1000"},
		{func(p *sendlimit.Policy) { p.Reach = 500 * time.Millisecond }, "reach", "500ms", "1s to 366d in whole seconds, such as 30d, 36h or 90m"},
		{func(p *sendlimit.Policy) { p.Reach = -time.Hour }, "reach", "-1h0m0s", "1s to 366d in whole seconds, such as 30d, 36h or 90m"},
		{func(p *sendlimit.Policy) { p.Reach = 367 * 24 * time.Hour }, "reach", "8808h0m0s", "1s to 366d in whole seconds, such as 30d, 36h or 90m"},
		{func(p *sendlimit.Policy) { p.OnConflict = "drop" }, "on_conflict", "drop", "refuse or shift"},
		{categories(many), "categories", "101 categories", "at most 100 categories"},
		{categories(map[string]sendlimit.CategoryRules{"": {Rules: minute}}), "categories", "", "a name of 1 to 64 of a-z 0-9 _ -"},
		{categories(map[string]sendlimit.CategoryRules{"Ads": {Rules: minute}}), "categories", "Ads", "a name of 1 to 64 of a-z 0-9 _ -"},
		{categories(map[string]sendlimit.CategoryRules{long: {Rules: minute}}), "categories", long, "a name of 1 to 64 of a-z 0-9 _ -"},
		{
			categories(map[string]sendlimit.CategoryRules{"ads": {}}),
			"categories.ads", "{}", "at least one rule such as 2/calendar_day, or exempt: true",
		},
		{
			categories(map[string]sendlimit.CategoryRules{"ads": {Exempt: true, Rules: minute}}),
			"categories.ads", "1/minute", "either rules or exempt: true, as an exempt message is judged by none",
		},
		{
			categories(map[string]sendlimit.CategoryRules{"ads": {Uncounted: true, Rules: minute}}),
			"categories.ads.counts", "false", "true, or exempt: true beside it: what is judged counts",
		},
		{
			categories(map[string]sendlimit.CategoryRules{"ads": {Rules: append(minute, minute...)}}),
			"categories.ads.rules", "1/minute", "each rule once",
		},
		{
			categories(map[string]sendlimit.CategoryRules{"ads": {Rules: []sendlimit.Rule{{Limit: 1001, Window: time.Hour}}}}),
			"categories.ads.rules", "1001/hour", "a limit of 1 to 1000",
		},
		{categories(map[string]sendlimit.CategoryRules{"ads": {Rules: crowd}}), "categories.ads.rules", "51 rules", "at most 50 rules"},
	} {
		policy := policyOf(t, "1/day")
		row.change(&policy)
		require.Equal(t, row.want, invalid(t, policy.Validate(), row.field, row.value))
	}
}

// Everything that is wrong is said, each thing once: of rules that nobody can read
// not that there are none, too.
func TestEverythingThatIsWrongWithAPolicy(t *testing.T) {
	t.Parallel()
	p := policyOf(t, "1/day", "2/day")
	p.Reach, p.OnConflict, p.AlertTo = -1, "drop", "ada"
	require.Equal(t, []string{"reach", "on_conflict", "alert_to"}, wrongFields(t, p.Validate()))
	_, err := sendlimit.PolicyDocument{
		Rules: []string{"often", "always"}, QuietHours: []string{"at night", "22:00-08:00"}, Reach: "30", TimeZone: "Local",
		Categories: map[string]sendlimit.CategoryDocument{"a": {Rules: []string{"x"}}, "b": {Rules: []string{"1/day", "2/day", "2/day"}}},
	}.Policy()
	require.Equal(t, []string{
		"rules", "rules", "quiet_hours", "reach", "categories.a.rules", "policy", "categories.b.rules", "time_zone", "categories.b.rules",
	}, wrongFields(t, err))
	var first *sendlimit.InvalidError
	require.ErrorAs(t, err, &first)
	require.Equal(t, "often", first.Value)

	err = sendlimit.InvalidErrors{{Field: "a", Value: "1", Want: "2"}, {Field: "b", Want: "3"}}
	require.EqualError(t, err, `a "1" is not allowed: it takes 2; b "" is not allowed: it takes 3`)
}

func wrongFields(t *testing.T, err error) []string {
	t.Helper()
	var wrong sendlimit.InvalidErrors
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, sendlimit.CodeInvalidField, wrong.Code())
	var fields []string
	for _, one := range wrong {
		fields = append(fields, one.Field)
	}
	return fields
}

// A document is refused for the same reasons, and for what can't be spelled as a
// policy at all.
func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		document     sendlimit.PolicyDocument
		field, value string
	}{
		{sendlimit.PolicyDocument{Name: "P", Rules: []string{"1/day"}}, "policy", "P"},
		{sendlimit.PolicyDocument{Name: "p"}, "rules", "[]"},
		{sendlimit.PolicyDocument{Name: "p", Rules: []string{"soon"}}, "rules", "soon"},
		{sendlimit.PolicyDocument{Name: "p", Rules: []string{"1/day"}, TimeZone: "Mars/Olympus"}, "time_zone", "Mars/Olympus"},
		{sendlimit.PolicyDocument{Name: "p", Rules: []string{"1/day"}, QuietHours: []string{"00:00-24:00"}}, "quiet_hours", "00:00-24:00"},
		{sendlimit.PolicyDocument{Name: "p", Rules: []string{"1/day"}, QuietHours: []string{"at night"}}, "quiet_hours", "at night"},
		{sendlimit.PolicyDocument{Name: "p", Rules: []string{"1/day"}, Reach: "400d"}, "reach", "400d"},
		{sendlimit.PolicyDocument{Name: "p", Rules: []string{"1/day"}, Reach: "0s"}, "reach", "0s"},
		{
			sendlimit.PolicyDocument{
				Name: "p", Rules: []string{"1/day"},
				Categories: map[string]sendlimit.CategoryDocument{"ads": {Rules: []string{"often"}}},
			}, "categories.ads.rules", "often",
		},
		{
			sendlimit.PolicyDocument{
				Name: "p", Rules: []string{"1/day"},
				Categories: map[string]sendlimit.CategoryDocument{"otp": {Counts: new(bool)}},
			}, "categories.otp.counts", "false",
		},
		{sendlimit.PolicyDocument{Name: "p", Rules: []string{"1/day"}, AlertAt: []int{0}}, "alert_at", "0"},
	} {
		p, err := row.document.Policy()
		require.NotEmpty(t, invalid(t, err, row.field, row.value))
		require.Equal(t, sendlimit.Policy{}, p)
	}
}
