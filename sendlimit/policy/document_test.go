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
		require.EqualError(t, err, field+` "0/minute" is not allowed: it takes a limit of 1 to 1000`)
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
		}
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
