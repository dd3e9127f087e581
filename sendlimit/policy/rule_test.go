package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestParseRule(t *testing.T) {
	t.Parallel()
	const oneDay = 24 * time.Hour
	for _, row := range []struct {
		written string
		rule    policy.Rule
		shown   string
	}{
		{"1/minute", policy.Rule{Limit: 1, Window: time.Minute}, "1/minute"},
		{"5/hour", policy.Rule{Limit: 5, Window: time.Hour}, "5/hour"},
		{"10/day", policy.Rule{Limit: 10, Window: oneDay}, "10/day"},
		{"1000/week", policy.Rule{Limit: 1000, Window: 7 * oneDay}, "1000/week"},
		{"3/90s", policy.Rule{Limit: 3, Window: 90 * time.Second}, "3/90s"},
		{"60/60s", policy.Rule{Limit: 60, Window: time.Minute}, "60/minute"},
		{"1/60m", policy.Rule{Limit: 1, Window: time.Hour}, "1/hour"},
		{"1/24h", policy.Rule{Limit: 1, Window: oneDay}, "1/day"},
		{"1/7d", policy.Rule{Limit: 1, Window: 7 * oneDay}, "1/week"},
		{"1/14d", policy.Rule{Limit: 1, Window: 14 * oneDay}, "1/14d"},
		{"1/336h", policy.Rule{Limit: 1, Window: 14 * oneDay}, "1/14d"},
		{"1/1h30m", policy.Rule{Limit: 1, Window: 90 * time.Minute}, "1/90m"},
		{"1/1000ms", policy.Rule{Limit: 1, Window: time.Second}, "1/1s"},
		{"1/366d", policy.Rule{Limit: 1, Window: 366 * oneDay}, "1/366d"},
		{"2/calendar_minute", policy.Rule{Limit: 2, Period: calendar.Minute}, "2/calendar_minute"},
		{"2/calendar_hour", policy.Rule{Limit: 2, Period: calendar.Hour}, "2/calendar_hour"},
		{"10/calendar_day", policy.Rule{Limit: 10, Period: calendar.Day}, "10/calendar_day"},
		{"2/calendar_week", policy.Rule{Limit: 2, Period: calendar.Week}, "2/calendar_week"},
		{"2/calendar_month", policy.Rule{Limit: 2, Period: calendar.Month}, "2/calendar_month"},
	} {
		r, err := policy.ParseRule(row.written)
		require.NoError(t, err, row.written)
		require.Equal(t, row.rule, r)
		require.Equal(t, row.shown, r.String())
		require.Equal(t, row.rule.Period != calendar.NoPeriod, r.Calendar())
		again, err := policy.ParseRule(r.String())
		require.NoError(t, err, row.written)
		require.Equal(t, r, again, "the one spelling reads back")
	}
}

func TestParseRuleRefuses(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		"", "/", "5", "5/", "/hour", "five/hour", "5/Hour", "5/ hour", " 5/hour", "5 /hour", "5/hours", "5/month", "5/year",
		"05/hour", "+5/hour", "5.0/hour", "1e1/hour", "5/1", "5/-d", "5/1.5d", "5/99999d", "5//hour", "5/hour/day",
		"5/calendar_", "5/calendar_year", "5/calendar_90s", "5/calendar_Day", "99999999999999999999/hour", "5/hour\x00",
	} {
		_, err := policy.ParseRule(written)
		require.Contains(t, story.Invalid(t, err, "rule", written), "a rule such as 5/hour", written)
	}
	for written, shown := range map[string]string{
		"0/minute": "0/minute", "-1/minute": "-1/minute", "1001/minute": "1001/minute", "0/calendar_day": "0/calendar_day",
	} {
		_, err := policy.ParseRule(written)
		require.Equal(t, "a limit of 1 to 1000", story.Invalid(t, err, "rule", shown))
	}
	for written, shown := range map[string]string{
		"1/0s": "1/0s", "1/0d": "1/0s", "1/999ms": "1/999ms", "1/1500ms": "1/1.5s", "1/1s1ns": "1/1.000000001s",
		"1/-1m": "1/-1m0s", "1/367d": "1/367d", "1/8784h1s": "1/31622401s", "1/8785h": "1/8785h",
	} {
		_, err := policy.ParseRule(written)
		require.Equal(t, "a window of whole seconds, 1 s to 366 days", story.Invalid(t, err, "rule", shown))
	}
	_, err := policy.ParseRule("soon")
	require.EqualError(t, err, `rule "soon" is not allowed: use a rule such as 5/hour, 3/90s or 10/calendar_day`+
		` (sliding: minute, hour, day, week or a length of time; natural: calendar_minute, _hour, _day, _week, _month)`)
}

func TestARuleIsEitherSlidingOrNatural(t *testing.T) {
	t.Parallel()
	for _, r := range []policy.Rule{
		{Limit: 1, Window: time.Minute, Period: calendar.Day},
		{Limit: 1, Period: calendar.Month + 1},
	} {
		require.Equal(t, "either a sliding window or a natural period", story.Invalid(t, r.Validate(), "rule", r.String()))
	}
	require.Error(t, policy.Rule{}.Validate(), "the zero rule is not valid")
	require.Equal(t, "period(9)", calendar.Period(9).String())
}

// Every valid rule has one spelling, which parses to the same rule, in JSON
// too.
func TestRulesReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := policy.Rule{Limit: rapid.IntRange(policy.MinLimit, policy.MaxLimit).Draw(t, "limit")}
		if rapid.Bool().Draw(t, "calendar") {
			r.Period = rapid.SampledFrom([]calendar.Period{
				calendar.Minute, calendar.Hour, calendar.Day, calendar.Week, calendar.Month,
			}).Draw(t, "period")
		} else {
			unit := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "unit")
			r.Window = unit * time.Duration(rapid.Int64Range(1, int64(calendar.MaxWindow/unit)).Draw(t, "units"))
		}
		require.NoError(t, r.Validate())
		again, err := policy.ParseRule(r.String())
		require.NoError(t, err)
		require.Equal(t, r, again)

		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.Equal(t, `"`+r.String()+`"`, string(text))
		var read policy.Rule
		require.NoError(t, json.Unmarshal(text, &read))
		require.Equal(t, r, read)
	})
}

func FuzzParseRule(f *testing.F) {
	for _, seed := range []string{"5/hour", "3/90s", "10/calendar_day", "1/366d", "60/60s", "1/1h30m", "x", "1/-1s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, written string) {
		r, err := policy.ParseRule(written)
		if err != nil {
			var problem *fault.InvalidError
			require.ErrorAs(t, err, &problem)
			require.Equal(t, "rule", problem.Field)
			return
		}
		require.NoError(t, r.Validate())
		again, err := policy.ParseRule(r.String())
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse("night-shift_2", "Europe/Berlin", "1/minute", "5/3600s")
	require.NoError(t, err)
	require.Equal(t, "1/minute, 5/hour (Europe/Berlin)", p.String())
	require.Equal(t, time.Hour, p.LargestWindow())

	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"night-shift_2","time_zone":"Europe/Berlin","rules":["1/minute","5/hour"]}`, string(text))
	var read policy.Policy
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, p, read)

	standard := policy.Default()
	require.NoError(t, standard.Validate())
	require.Equal(t, "1/minute, 5/hour, 10/calendar_day", standard.String())
}

func TestParsePolicyRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, zone   string
		rules        []string
		field, value string
		want         string
	}{
		{"", "", []string{"1/minute"}, "policy", "", "a name of 1 to 64 of a-z 0-9 _ -"},
		{"A", "", []string{"1/minute"}, "policy", "A", "a name of 1 to 64 of a-z 0-9 _ -"},
		{"a:b", "", []string{"1/minute"}, "policy", "a:b", "a name of 1 to 64 of a-z 0-9 _ -"},
		{strings.Repeat("a", 65), "", []string{"1/minute"}, "policy", strings.Repeat("a", 65), "a name of 1 to 64 of a-z 0-9 _ -"},
		{"p", "", nil, "rules", "[]", "a policy needs at least one rule, such as 5/hour"},
		{"p", "", []string{"1/minute", "1/minute"}, "rules", "1/minute", "rules has the rule 1/minute twice"},
		{"p", "", []string{"60/minute", "60/60s"}, "rules", "60/minute", "rules has the rule 60/minute twice"}, // two spellings of one
		{"p", "", []string{"1/day", "5/hour", "1/24h"}, "rules", "1/day", "rules has the rule 1/day twice"},
		{"p", "", []string{"1/minute", "0/hour"}, "rule", "0/hour", "a limit of 1 to 1000"},
		{"p", "Europe/Atlantis", []string{"1/minute"}, "time_zone", "Europe/Atlantis", "an IANA time zone such as Europe/Berlin"},
		{"p", "Local", []string{"1/minute"}, "time_zone", "Local", "an IANA time zone such as Europe/Berlin"}, // the process's own
		{"p", "../etc/passwd", []string{"1/minute"}, "time_zone", "../etc/passwd", "an IANA time zone such as Europe/Berlin"},
	} {
		_, err := policy.Parse(row.name, row.zone, row.rules...)
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
	}
	_, err := policy.Parse("p", "UTC", "1/day", "1/calendar_day", "2/day", "1/calendar_week")
	require.NoError(t, err, "alike is not equal")
}

// The largest window is the longest duration that a rule can cover: a day with
// a clock change may have more than 24 hours.
func TestLargestWindow(t *testing.T) {
	t.Parallel()
	for rules, least := range map[string]time.Duration{
		"1/minute":                        time.Minute,
		"1/minute 1/hour":                 time.Hour,
		"1/calendar_minute":               time.Minute,
		"1/calendar_hour":                 time.Hour,
		"1/calendar_day 1/hour":           26 * time.Hour,
		"1/calendar_week 1/day":           7*24*time.Hour + 2*time.Hour,
		"1/calendar_month 1/calendar_day": 31*24*time.Hour + 2*time.Hour,
	} {
		p, err := policy.Parse("p", "", strings.Fields(rules)...)
		require.NoError(t, err)
		require.Equal(t, least, p.LargestWindow(), rules)
	}
}

func TestRulesOfTheSameWindow(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule, other string
		same        bool
	}{
		{"1/minute", "1/minute", true},
		{"1/minute", "5/60s", true}, // whatever the limit, however it is spelled
		{"1/minute", "1/hour", false},
		{"1/calendar_day", "9/calendar_day", true},
		{"1/day", "1/calendar_day", false}, // one slides
		{"1/calendar_day", "1/calendar_week", false},
	} {
		rule, err := policy.ParseRule(row.rule)
		require.NoError(t, err)
		other, err := policy.ParseRule(row.other)
		require.NoError(t, err)
		require.Equal(t, row.same, rule.SameWindow(other), "%s and %s", rule, other)
		require.Equal(t, row.same, other.SameWindow(rule), "%s and %s", other, rule)
	}
}
