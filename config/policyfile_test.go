package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const everyField = `
name: vip
time_zone: Europe/Berlin
user_time_zone: true
rules: [5/minute, 100/calendar_day]
quiet_hours:
  - 22:00-08:00
  - sat,sun 00:00-24:00
only: [mon-fri 09:00-20:00, sat,sun 10:00-18:00]
blackouts:
  - 12-25
  - 2027-04-02..2027-04-05
  - holidays
calendars:
  holidays: [01-01, 05-01]
changes:
  - from: 2027-11-25
    until: 2027-12-01T06:00:00Z
    rules: [20/calendar_day]
    quiet_hours: []
reach: 30d
on_conflict: shift
alert_at: [50, 100]
alert_to: ops@example.com
categories:
  marketing: {rules: [2/calendar_day], quiet_hours: [], only: ["sat,sun 00:00-24:00"], blackouts: [holidays], throttle: 500/minute}
  otp:
    exempt: true
    counts: false
version: 7
`

func readPolicy(text string) (policy.Policy, error) {
	return config.ReadPolicy(config.StandardInput, strings.NewReader(text), "fallback", today())
}

func TestAPolicyOfAFile(t *testing.T) {
	t.Parallel()
	hours, err := policy.ParseQuietHours("22:00-08:00", "sat,sun 00:00-24:00")
	require.NoError(t, err)
	only, err := policy.ParseAllowedHours("mon-fri 09:00-20:00", "sat,sun 10:00-18:00")
	require.NoError(t, err)
	weekend, err := policy.ParseAllowedHours("sat,sun 00:00-24:00")
	require.NoError(t, err)
	dates := func(lines ...string) policy.Blackouts {
		b, err := policy.ParseBlackouts(lines...)
		require.NoError(t, err)
		return b
	}
	want := policy.Policy{
		Name: "vip", TimeZone: "Europe/Berlin", UserTimeZone: true,
		Rules: []policy.Rule{{Limit: 5, Window: time.Minute}, {Limit: 100, Period: calendar.Day}},
		Only:  only, Blackouts: dates("12-25", "2027-04-02..2027-04-05", "holidays"),
		Calendars: map[string]policy.Blackouts{"holidays": dates("01-01", "05-01")},
		Changes: []policy.DatedChange{{
			From: time.Date(2027, 11, 24, 23, 0, 0, 0, time.UTC), Until: time.Date(2027, 12, 1, 6, 0, 0, 0, time.UTC),
			Rules: []policy.Rule{{Limit: 20, Period: calendar.Day}}, QuietHours: &policy.WeekHours{},
		}},
		QuietHours: hours, Reach: 30 * 24 * time.Hour, OnConflict: policy.Shift,
		AlertAt: []int{50, 100}, AlertTo: "ops@example.com",
		Categories: map[string]policy.CategoryRules{
			"marketing": {
				Rules:      []policy.Rule{{Limit: 2, Period: calendar.Day}},
				QuietHours: &policy.WeekHours{}, Only: &weekend, Blackouts: new(dates("holidays")),
				Throttle: policy.Throttle{Limit: 500, Period: calendar.Minute},
			},
			"otp": {Exempt: true, Uncounted: true},
		},
		Version: 7,
	}
	got, err := readPolicy(everyField)
	require.NoError(t, err)
	require.Equal(t, want, got)

	document, err := json.Marshal(want)
	require.NoError(t, err)
	got, err = config.ReadPolicy(file(t, string(document)), nil, "fallback", today())
	require.NoError(t, err)
	require.True(t, want.Equal(got), "JSON says the same: %s", document)

	got, err = readPolicy("rules: [1/minute]\ntime_zone:\nquiet_hours: []\nalert_at: []\ncategories: {}\n")
	require.NoError(t, err)
	require.Equal(t, policy.Policy{
		Name: "fallback", Rules: []policy.Rule{{Limit: 1, Window: time.Minute}}, AlertAt: []int{},
	}, got)

	// Between [ ] the days of a line are taken apart, and no less clear.
	got, err = readPolicy("rules: [1/minute]\nquiet_hours: [sat,sun 00:00-24:00, 22:00-08:00]")
	require.NoError(t, err)
	require.Equal(t, []string{"sat,sun 00:00-24:00", "22:00-08:00"}, got.QuietHours.Lines())
}

// Each bad policy is refused for its reason, with the line.
func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	const rule = "a rule such as 5/hour, 3/90s or 10/calendar_day" +
		" (sliding: minute, hour, day, week or a length of time; natural: calendar_minute, _hour, _day, _week, _month)"
	const known = "name, time_zone, user_time_zone, rules, quiet_hours, only, blackouts, calendars, reach, on_conflict, shift_spread, late, account_share, alert_at, alert_to, categories, unknown_categories, changes, version"
	const badDate = "a date such as 2027-01-01, 12-25 for every year, a range such as 2027-04-02..2027-04-05, or the name of a calendar of the policy"
	const badClock = "hours such as 22:00-08:00, mon-fri 22:00-07:30 or sat,sun 00:00-24:00"
	const reach = "1s to 366d in whole seconds, such as 30d, 36h or 90m"
	for _, row := range []struct{ field, value, want, line, text string }{
		{"rules", "[]", "!a policy needs at least one rule, such as 5/hour", "", ""},
		{"rules", "[]", "!a policy needs at least one rule, such as 5/hour", ", line 2", "\nrules: []"},
		{"rules", "5 an hour", rule, ", line 3", "rules:\n  - 1/minute\n  - 5 an hour"},
		{"rules", "0/hour", "a limit of 1 to 1000", ", line 1", "rules: [0/hour]"}, // it could never accept
		{"rules", "1/367d", "a window of whole seconds, 1 s to 366 days", ", line 1", "rules: [1/367d]"},
		{"rules", "1/minute", "!rules has the rule 1/minute twice", ", line 1", "rules: [1/minute, 1/60s]"},
		{"rules", "1/minute", "a list of rules such as [1/minute, 5/hour]", ", line 1", "rules: 1/minute"},
		{"rules", "a mapping", "a list of rules such as [1/minute, 5/hour]", ", line 1", "rules: [{a: b}]"},
		{"name", "VIP", "a name of 1 to 64 of a-z 0-9 _ -", ", line 1", "name: VIP\nrules: [1/day]"},
		{"time_zone", "Mars/Olympus", "an IANA time zone such as Europe/Berlin", ", line 2", "rules: [1/day]\ntime_zone: Mars/Olympus"},
		{"time_zone", "Local", "an IANA time zone such as Europe/Berlin", ", line 2", "rules: [1/day]\ntime_zone: Local"},
		{"time_zone", "a list", "a plain value", ", line 2", "rules: [1/day]\ntime_zone: [UTC]"},
		{"user_time_zone", "yes", "true or false", ", line 2", "rules: [1/day]\nuser_time_zone: yes"},
		{"quiet_hours", "00:00-24:00", "!the quiet hours 00:00-24:00 leave no time of the week: nothing could ever be sent", ", line 2", "rules: [1/day]\nquiet_hours: [00:00-24:00]"},
		{"quiet_hours", "22:00-22:00", "hours that end at another time than they begin: a whole day is 00:00-24:00", ", line 2", "rules: [1/day]\nquiet_hours: [22:00-22:00]"},
		{"quiet_hours", "22:00-08:00", `a list of hours such as ["22:00-08:00"]`, ", line 2", "rules: [1/day]\nquiet_hours: 22:00-08:00"},
		{"quiet_hours", "a mapping", `a list of hours such as ["22:00-08:00"]`, ", line 1", "{rules: [1/day], quiet_hours: [22:00-08:00]}"}, // so YAML has it between braces
		{
			"quiet_hours", "25:00-08:00", badClock, ", line 4", // the element's
			"rules: [1/day]\nquiet_hours:\n  - 22:00-08:00\n  - 25:00-08:00\n  - sat 00:00-24:00",
		},
		{
			"quiet_hours", "sat,sun 9-5", badClock, ", line 4", // where the hours of the days are
			"rules: [1/day]\nquiet_hours: [22:00-08:00,\n  sat,\n  sun 9-5,\n  mon 10:00-11:00]",
		},
		{"only", "9-5", badClock, ", line 2", "rules: [1/day]\nonly: [9-5]"},
		{"only", "09:00-20:00", `a list of hours such as ["22:00-08:00"]`, ", line 2", "rules: [1/day]\nonly: 09:00-20:00"},
		{"blackouts", "25-12", badDate, ", line 3", "rules: [1/day]\nblackouts: [2027-01-01,\n  25-12]"},
		{"blackouts", "12-25", "a list of dates such as [12-25, 2027-04-02..2027-04-05]", ", line 2", "rules: [1/day]\nblackouts: 12-25"},
		{"blackouts", "feasts", "!blackouts names the calendar feasts, which is not in calendars", ", line 2", "rules: [1/day]\nblackouts: [feasts]"},
		{"calendars", "a list", "a mapping of names to lists of dates", ", line 2", "rules: [1/day]\ncalendars: [12-25]"},
		{"calendars.feasts", "soon", "dates only: a calendar does not name another one", ", line 3", "rules: [1/day]\ncalendars:\n  feasts: [soon]"},
		{"changes", "a mapping", "a list of changes, each with from or until", ", line 2", "rules: [1/day]\nchanges: {from: 2027-01-01}"},
		{"changes.1", "a plain value", "a mapping of from, until, rules, quiet_hours, only, blackouts, categories", ", line 2", "rules: [1/day]\nchanges: [2027-01-01]"},
		{"changes.1.from", "soon", "a date such as 2027-01-01, or a time such as 2027-01-01T18:00:00Z", ", line 3", "rules: [1/day]\nchanges:\n  - from: soon"},
		{"changes.1.rules", "x", rule, ", line 4", "rules: [1/day]\nchanges:\n  - from: 2027-01-01\n    rules: [x]"},
		{"changes.2", "", "!changes.1 and changes.2 apply at the same time: only one may", ", line 4", "rules: [1/day]\nchanges:\n  - from: 2027-01-01\n  - from: 2027-01-02"},
		{"setting", "changes.1.rule", `!unknown setting "changes.1.rule": there are from, until, rules, quiet_hours, only, blackouts, categories`, ", line 2", "rules: [1/day]\nchanges: [{from: 2027-01-01, rule: 1/day}]"},
		{"categories.otp.only", "9-5", badClock, ", line 3", "rules: [1/day]\ncategories:\n  otp: {only: [9-5]}"},
		{"quiet_hours", "sat,sun", badClock, ", line 4", "rules: [1/day]\nquiet_hours:\n  - sat\n  - sun"},
		{"reach", "367d", reach, ", line 2", "rules: [1/day]\nreach: 367d"},
		{"reach", "0s", reach, ", line 2", "rules: [1/day]\nreach: 0s"}, // it could never accept
		{"reach", "30", reach, ", line 2", "rules: [1/day]\nreach: 30"},
		{"on_conflict", "drop", "refuse or shift", ", line 2", "rules: [1/day]\non_conflict: drop"},
		{"alert_at", "80", "a list of percents such as [80, 100]; [] for no alerts", ", line 2", "rules: [1/day]\nalert_at: 80"},
		{"alert_at", "most", "a list of percents such as [80, 100]; [] for no alerts", ", line 3", "rules: [1/day]\nalert_at:\n- most"},
		{"alert_at", "100 80", "percents of 1 to 100, ascending, such as 80 and 100", ", line 2", "rules: [1/day]\nalert_at: [100, 80]"},
		{"alert_to", "ada", "one e-mail address such as ops@example.com, or an https: URL such as https://example.com/alerts", ", line 2", "rules: [1/day]\nalert_to: ada"},
		{"categories", "a list", "a mapping of categories to their rules", ", line 2", "rules: [1/day]\ncategories: [otp]"},
		{"categories", "News!", "a name of 1 to 64 of a-z 0-9 _ -", ", line 3", "rules: [1/day]\ncategories:\n  News!: {exempt: true}"},
		{"categories.otp.counts", "false", "!categories.otp has counts: false without exempt: true: messages that are judged also count", ", line 3", "rules: [1/day]\ncategories:\n  otp: {rules: [1/hour], counts: false}"},
		{"categories.otp.rules", "hourly", rule, ", line 4", "rules: [1/day]\ncategories:\n  otp:\n    rules: [hourly]"},
		{"categories.otp.rules", "2/hour", "!categories.otp.rules has 1/hour and 2/hour, which have the same window: keep one of them", ", line 3", "rules: [1/hour]\ncategories:\n  otp: {rules: [1/hour, 2/hour]}"},
		{"categories.ads.throttle", "500/day", "1 to 1000000 a minute or an hour, such as 500/minute or 10000/hour", ", line 4", "rules: [1/day]\ncategories:\n  ads:\n    throttle: 500/day"},
		{"categories.otp.accounts", "shop", "a list of accounts such as [shop, support]", ", line 3", "rules: [1/day]\ncategories:\n  otp: {exempt: true, accounts: shop}"},
		{"categories.otp.accounts", "Shop", "a name of 1 to 64 of a-z 0-9 _ -", ", line 3", "rules: [1/day]\ncategories:\n  otp: {exempt: true, accounts: [shop, Shop]}"},
		{"setting", "categories.otp.reach", `!unknown setting "categories.otp.reach": there are rules, exempt, counts, quiet_hours, only, blackouts, shift_spread, throttle, accounts`, ", line 3", "rules: [1/day]\ncategories:\n  otp: {exempt: true, reach: 1d}"},
		{"setting", "prefix", `!unknown setting "prefix": there are ` + known, ", line 2", "rules: [1/day]\nprefix: sl"},
	} {
		_, err := readPolicy(row.text)
		require.EqualError(t, err, refusal(row.field, row.value, row.want)+" (standard input"+row.line+")", row.text)
	}
	var many strings.Builder
	for i := range policy.MaxCategories + 1 {
		fmt.Fprintf(&many, "\n  c%d: {exempt: true}", i)
	}
	_, err := readPolicy("rules: [1/day]\ncategories:" + many.String())
	require.EqualError(t, err, "there are 101 categories: a policy has at most 100 (standard input, line 2)")
}

func TestEverythingWrongWithAPolicyIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	name := file(t, `{
	"time_zone": "Mars",
	"quiet_hours": ["9-5", "00:00-24:00"],
	"reach": "2y",
	"alert_at": [0],
	"alert_to": "ada",
	"on_conflict": "drop",
	"categories": {"a": {"exempt": true, "rules": ["1/day"]}, "b": {"rules": ["x"], "counts": "no"}},
	"rule": ["1/day"]
}`)
	_, err := config.ReadPolicy(name, nil, "default", today())
	problem, ok := errors.AsType[*config.Error](err)
	require.True(t, ok, err)
	fields := make([]string, len(problem.Rejected))
	for i, rejected := range problem.Rejected {
		fields[i] = rejected.Field
		require.Contains(t, rejected.Error(), "("+name, "it says where")
	}
	require.Equal(t, []string{
		"time_zone", "quiet_hours", "quiet_hours", "reach", "alert_at", "alert_to", "on_conflict",
		"categories.a", "categories.b.rules", "categories.b.counts", "setting", "rules",
	}, fields)
}

func TestPolicyFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- 1/minute":                                "is no policy: write rules and what else there is, name: value",
		"1/minute":                                  "is no policy: write rules and what else there is, name: value",
		"rules: [1/minute]\nrules: [2/minute]":      `is no valid YAML or JSON: line 2, column 1: mapping key "rules" already defined at [1:1]`,
		`{"rules": ["1/minute"`:                     "is no valid YAML or JSON: line 1, column 11: sequence end token ']' not found",
		"rules: [1/minute]\n---\nrules: [2/minute]": "has several documents: one is allowed",
		strings.Repeat("#", 1<<20+1):                "can't be read: it has more than 1048576 bytes",
		"rules: \xff":                               "can't be read: it is not UTF-8 text",
	} {
		_, err := readPolicy(text)
		require.EqualError(t, err, "standard input "+want)
	}
	missing := filepath.Join(t.TempDir(), "none.yaml")
	_, err := config.ReadPolicy(missing, nil, "default", today())
	require.EqualError(t, err, missing+" can't be read: opening it: no such file or directory")
	_, err = config.ReadPolicy(t.TempDir(), nil, "default", today())
	require.ErrorContains(t, err, "is a directory")
}

func FuzzReadPolicy(f *testing.F) {
	f.Add(everyField)
	f.Add(`{"rules": ["1/minute"], "categories": {"a": null}}`)
	f.Add("? a\n: b\n<<: *c\n- d")
	f.Fuzz(func(t *testing.T, text string) {
		policy, err := readPolicy(text)
		if err == nil {
			require.NoError(t, policy.Validate())
			return
		}
		require.ErrorAs(t, err, new(*config.Error))
	})
}

// All faults are told at once: of two rules with the same window, also beside elements that
// can't be read.
func TestADoubledWindowBesideOtherFaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"rules: [5/hour, 7/hour, 0/day]",
		"rules: [5/hour, 7/hour, {a: b}]",
		"rules: [5/hour, 7/hour]\nreach: 0s",
		"rules: [5/hour, 7/hour]\nfoo: 1",
		"rules: [5/hour, 7/hour]\nversion: x",
	} {
		_, err := readPolicy(text)
		require.ErrorContains(t, err, "rules has 5/hour and 7/hour, which have the same window: keep one of them", text)
		var wrong *config.Error
		require.ErrorAs(t, err, &wrong)
		require.Len(t, wrong.Rejected, 2, text)
	}
	_, err := readPolicy("rules: [{a: b}]\ncategories: {ads: {rules: [1/day, 2/day, [3]]}}")
	require.NotContains(t, err.Error(), "at least one rule", "it is not known what the file meant")
	require.ErrorContains(t, err, "categories.ads.rules has 1/day and 2/day, which have the same window")
}

// Some editors begin a file with a byte order mark.
func TestAPolicyBehindAByteOrderMark(t *testing.T) {
	t.Parallel()
	p, err := readPolicy("\ufeffrules: [1/minute]\n")
	require.NoError(t, err)
	require.Len(t, p.Rules, 1)
}
