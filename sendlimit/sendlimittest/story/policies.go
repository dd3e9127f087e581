package story

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// LimitsOf parses rules.
func LimitsOf(t *testing.T, rules ...string) []policy.Rule {
	t.Helper()
	return PolicyOf(t, rules...).Rules
}

// FullPolicy returns a policy with a value in every field.
func FullPolicy(t require.TestingT) policy.Policy {
	p, err := policy.Parse("full", "Europe/Berlin", "1/minute", "10/calendar_day")
	require.NoError(t, err)
	p.UserTimeZone, p.Reach, p.OnConflict = true, 30*24*time.Hour, policy.Shift
	p.QuietHours = QuietHours(t, "mon-fri 22:00-07:30", "sat,sun 00:00-24:00")
	p.AlertAt, p.AlertTo = []int{50}, "ops@example.com"
	p.Categories = map[string]policy.CategoryRules{
		"otp":       {Exempt: true, Uncounted: true},
		"invoices":  {Exempt: true},
		"marketing": {Rules: []policy.Rule{{Limit: 2, Period: calendar.Day}, {Limit: 5, Window: 14 * 24 * time.Hour}}},
	}
	p.UnknownCategories = policy.AllowUnknown
	require.NoError(t, p.Validate())
	return p
}

// FullDocument is version 3 of FullPolicy as the store keeps it.
const FullDocument = `{"name":"full","time_zone":"Europe/Berlin","user_time_zone":true,"rules":["1/minute","10/calendar_day"],` +
	`"quiet_hours":["mon-fri 22:00-07:30","sat,sun 00:00-24:00"],"reach":"30d","on_conflict":"shift",` +
	`"alert_at":[50],"alert_to":"ops@example.com",` +
	`"categories":{"invoices":{"exempt":true},"marketing":{"rules":["2/calendar_day","5/14d"]},"otp":{"exempt":true,"counts":false}},` +
	`"unknown_categories":"allow",` +
	`"version":3}`

// QuietHours parses quiet hours.
func QuietHours(t require.TestingT, lines ...string) policy.WeekHours {
	h, err := policy.ParseQuietHours(lines...)
	require.NoError(t, err, lines)
	return h
}

// PolicyOf parses rules to a policy with the name "test". The time zone comes
// first: "zone:Europe/Berlin". Without it the zone is UTC.
func PolicyOf(t require.TestingT, rules ...string) policy.Policy {
	zone := ""
	if name, ok := strings.CutPrefix(rules[0], "zone:"); ok {
		zone, rules = name, rules[1:]
	}
	policy, err := policy.Parse("test", zone, rules...)
	require.NoError(t, err)
	return policy
}

// WithCodes returns a policy with two exempt categories. Messages of "otp" count
// for others, messages of "code" do not.
func WithCodes(t *testing.T, rules ...string) policy.Policy {
	t.Helper()
	p := PolicyOf(t, rules...)
	p.UnknownCategories = policy.AllowUnknown
	p.Categories = map[string]policy.CategoryRules{
		"otp":  {Exempt: true},
		"code": {Exempt: true, Uncounted: true},
	}
	return p
}
