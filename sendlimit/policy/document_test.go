package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestPolicyDocument(t *testing.T) {
	t.Parallel()
	p := story.FullPolicy(t)
	p.Version = 3
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.Equal(t, story.FullDocument, string(text)) //nolint:testifylint // the very bytes are what the store compares
	var again policy.Policy
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, p, again)
	require.Equal(t, "1/minute, 10/calendar_day (the user's time zone, else Europe/Berlin),"+
		" invoices exempt, marketing 2/calendar_day and 5/14d, otp exempt and not counted, other categories allowed,"+
		" quiet mon-fri 22:00-07:30 and sat,sun 00:00-24:00, at most 30d ahead, shifted on conflict,"+
		" alerts at 50 %, alerts to ops@example.com", p.String())
	require.Equal(t, 14*24*time.Hour, p.LargestWindow(), "categories have windows, too")
}

// Defaults are left out, however they were written, and rules are spelled for
// people.
func TestWhatADocumentLeavesOut(t *testing.T) {
	t.Parallel()
	usual := policy.Document{
		Name: "default", TimeZone: "UTC", Rules: []string{"60/60s"}, QuietHours: []string{}, OnConflict: "refuse",
		AlertAt: []int{80, 100}, Categories: map[string]policy.CategoryDocument{},
	}
	p, err := usual.Policy()
	require.NoError(t, err)
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.Equal(t, `{"name":"default","rules":["60/minute"]}`, string(text)) //nolint:testifylint // the very bytes
	spelled := p.Document().Spelled()
	require.Equal(t, "UTC", spelled.TimeZone)
	require.Equal(t, "refuse", spelled.OnConflict)
	require.Equal(t, []int{80, 100}, spelled.AlertAt)
	again, err := spelled.Policy()
	require.NoError(t, err)
	require.True(t, p.Equal(again))

	counted := true
	usual.Categories["invoices"] = policy.CategoryDocument{Exempt: true, Counts: &counted}
	p, err = usual.Policy()
	require.NoError(t, err)
	require.Equal(t, map[string]policy.CategoryRules{"invoices": {Exempt: true}}, p.Categories)
	text, err = json.Marshal(p.Document().Categories)
	require.NoError(t, err)
	require.JSONEq(t, `{"invoices":{"exempt":true}}`, string(text))
}

// An error names the value as it is written in the document.
func TestAWrongRuleOfADocument(t *testing.T) {
	t.Parallel()
	right := []string{"1/minute"}
	for field, d := range map[string]policy.Document{
		"rules": {Name: "p", Rules: []string{"0/minute"}},
		"categories.news.rules": {
			Name: "p", Rules: right, Categories: map[string]policy.CategoryDocument{"news": {Rules: []string{"0/minute"}}},
		},
	} {
		_, err := d.Policy()
		require.EqualError(t, err, field+` "0/minute" is not allowed: use a limit of 1 to 1000`)
	}
}

func TestADocumentOfANewerProgram(t *testing.T) {
	t.Parallel()
	var p policy.Policy
	require.NoError(t, json.Unmarshal([]byte(`{"name":"p","rules":["1/day"],"moon_phase":"full","categories":{"otp":{"exempt":true,"colour":1}}}`), &p))
	require.Equal(t, "1/day, otp exempt", p.String())
	require.ErrorContains(t, json.Unmarshal([]byte(`{"name":"p","rules":["1/day"],"on_conflict":"queue"}`), &p), `on_conflict "queue"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"name":"p","rules":["1/fortnight"]}`), &p), `rules "1/fortnight"`)
	require.Error(t, json.Unmarshal([]byte(`{"rules":7}`), &p))
	require.Equal(t, "1/day, otp exempt", p.String(), "nothing of a refused one is taken")
}

func TestReach(t *testing.T) {
	t.Parallel()
	for written, shown := range map[string]string{
		"30d": "30d", "366d": "366d", "24h": "1d", "36h": "36h", "90m": "90m", "1h30m": "90m", "1s": "1s", "61s": "61s", "8784h": "366d",
	} {
		reach, err := policy.ParseReach(written)
		require.NoError(t, err, written)
		require.Equal(t, shown, policy.FormatReach(reach))
	}
	for _, written := range []string{"", "0", "0s", "-1h", "500ms", "1500ms", "367d", "8785h", "d", "1.5d", "-1d", "99999d", "30 d", "soon", "day"} {
		_, err := policy.ParseReach(written)
		require.Equal(t, "1s to 366d in whole seconds, such as 30d, 36h or 90m", story.Invalid(t, err, "reach", written))
	}
	require.Equal(t, "1.5s", policy.FormatReach(1500*time.Millisecond), "of what is not valid, too")
}

func drawPolicy(t *rapid.T) policy.Policy {
	rules := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1/minute", "5/hour", "10/calendar_day", "7/90s", "3/calendar_month"}), 1, 3, rapid.ID)
	p, err := policy.Parse("drawn", rapid.SampledFrom([]string{"", "Asia/Tokyo"}).Draw(t, "zone"), rules.Draw(t, "rules")...)
	require.NoError(t, err)
	p.UserTimeZone = rapid.Bool().Draw(t, "user zone")
	if rapid.Bool().Draw(t, "quiet") {
		p.QuietHours = story.QuietHours(t, drawLines(t)...)
	}
	p.Reach = rapid.SampledFrom([]time.Duration{0, time.Second, 36 * time.Hour, 366 * 24 * time.Hour}).Draw(t, "reach")
	p.OnConflict = rapid.SampledFrom([]policy.OnConflict{"", policy.Shift}).Draw(t, "on conflict")
	p.Late = rapid.SampledFrom([]time.Duration{0, time.Second, policy.DefaultLate, policy.MaxLate}).Draw(t, "late")
	spread := rapid.SampledFrom([]time.Duration{0, time.Second, policy.MaxShiftSpread})
	p.ShiftSpread = spread.Draw(t, "shift spread")
	p.AccountShare = rapid.SampledFrom([]int{0, 1, 99}).Draw(t, "account share")
	p.AlertAt = rapid.SampledFrom([][]int{nil, {}, {50, 90}}).Draw(t, "alerts")
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b-1", "version"}), 0, 3, rapid.ID).Draw(t, "categories") {
		category := policy.CategoryRules{Exempt: rapid.Bool().Draw(t, "exempt")}
		if category.Exempt {
			category.Uncounted = rapid.Bool().Draw(t, "uncounted")
		} else {
			for _, rule := range rules.Draw(t, "category rules") {
				r, err := policy.ParseRule(rule)
				require.NoError(t, err)
				category.Rules = append(category.Rules, r)
			}
			if rapid.Bool().Draw(t, "own spread") {
				category.ShiftSpread = new(spread.Draw(t, "its spread"))
			}
		}
		category.Accounts = rapid.SampledFrom([][]string{nil, {"acme", "beta"}}).Draw(t, "accounts")
		if p.Categories == nil {
			p.Categories = make(map[string]policy.CategoryRules)
		}
		p.Categories[name] = category
	}
	p.Version = rapid.Int64Range(0, 1<<40).Draw(t, "version")
	require.NoError(t, p.Validate())
	return p
}

func TestPoliciesReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		text, err := json.Marshal(p)
		require.NoError(t, err)
		var again policy.Policy
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, p, again)
		spelled, err := p.Document().Spelled().Policy()
		require.NoError(t, err)
		require.True(t, p.Equal(spelled))
	})
}

func datedDocument(changes ...policy.ChangeDocument) policy.Document {
	return policy.Document{Name: "p", TimeZone: "Europe/Berlin", Rules: []string{"5/hour"}, QuietHours: []string{"22:00-08:00"}, Changes: changes}
}

// Dates begin at midnight in the policy's zone. A change keeps all other fields.
func TestDatedChangesOfADocument(t *testing.T) {
	t.Parallel()
	d := datedDocument(
		policy.ChangeDocument{From: "2027-11-25", Until: "2027-12-01", Rules: []string{"20/calendar_day"}, QuietHours: []string{}},
		policy.ChangeDocument{From: "2028-01-01T12:30:00Z", Only: []string{"09:00-18:00"}, Categories: map[string]policy.CategoryDocument{"otp": {Exempt: true}}},
	)
	p, err := d.Policy()
	require.NoError(t, err)
	require.Equal(t, d, p.Document())
	require.Equal(t, time.Date(2027, 11, 24, 23, 0, 0, 0, time.UTC), p.Changes[0].From)
	require.Equal(t, "5/hour (Europe/Berlin), quiet 22:00-08:00; from 2027-11-25 until 2027-12-01: 20/calendar_day;"+
		" from 2028-01-01T12:30:00Z: 5/hour, otp exempt, quiet 22:00-08:00, only 09:00-18:00", p.String())
	require.Equal(t, 26*time.Hour, p.LargestWindow())
	other, err := d.Policy()
	require.NoError(t, err)
	require.True(t, p.Equal(other))
	other.Changes[0].Until = other.Changes[0].Until.Add(time.Second)
	require.False(t, p.Equal(other))
	require.True(t, p.RefusesCategory("news"))
	require.False(t, p.RefusesCategory("otp"), "a change names it")
}

func TestDatedChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	rules := []string{"1/hour"}
	for says, changes := range map[string][]policy.ChangeDocument{
		`changes.1.from "soon" is not allowed: use a date such as 2027-01-01, or a time`: {{From: "soon"}},
		"changes.1 needs from, until or both":                                            {{Rules: rules}},
		`changes.1.until "2027-01-01T23:00:00Z" is not allowed: use a time after from`:   {{From: "2027-01-02", Until: "2027-01-02"}},
		"changes.1 and changes.2 apply at the same time":                                 {{From: "2027-01-02"}, {From: "2027-03-01", Until: "2027-04-01"}},
		`changes.2.rules "x" is not allowed`:                                             {{From: "2027-01-02", Until: "2027-01-03"}, {From: "2027-03-01", Rules: []string{"x"}}},
		"in changes.1: a policy needs at least one rule":                                 {{From: "2027-01-02", Rules: []string{}}},
		"in changes.1: rules has 1/hour and 2/hour, which":                               {{From: "2027-01-02", Rules: []string{"1/hour", "2/60m"}}},
		"in changes.1: only 22:00-07:00 is entirely within the quiet hours 22:00-08:00":  {{From: "2027-01-02", Only: []string{"22:00-07:00"}}},
		"in changes.1: categories.a needs at least one rule":                             {{From: "2027-01-02", Categories: map[string]policy.CategoryDocument{"a": {}}}},
		"changes.1.categories.a has a throttle: only the policy's own":                   {{From: "2027-01-02", Categories: map[string]policy.CategoryDocument{"a": {Throttle: "5/minute"}}}},
		"changes.1.categories.a has accounts: only the policy's own":                     {{From: "2027-01-02", Categories: map[string]policy.CategoryDocument{"a": {Exempt: true, Accounts: []string{"acme"}}}}},
		"there are 21 changes: a policy has at most 20":                                  make([]policy.ChangeDocument, 21),
		`changes.1.quiet_hours "late" is not allowed: use hours such as 22:00-08:00`:     {{From: "2027-01-02", QuietHours: []string{"late"}}},
	} {
		_, err := datedDocument(changes...).Policy()
		require.ErrorContains(t, err, says)
	}
}
