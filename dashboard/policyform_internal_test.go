package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// sent returns a form as a browser sends it.
func sent(f policyForm) url.Values {
	yes := func(v bool) []string {
		if v {
			return []string{"yes"}
		}
		return nil
	}
	crlf := func(text string) []string { return []string{strings.ReplaceAll(text, "\n", "\r\n")} }
	v := url.Values{
		"name": {f.Name}, "version": {f.Version}, "rules": crlf(f.Rules), "quiet_hours": crlf(f.QuietHours), "only": crlf(f.Only), "blackouts": crlf(f.Blackouts),
		"time_zone": {f.TimeZone}, "user_time_zone": yes(f.UserTimeZone), "reach": {f.Reach}, "on_conflict": {f.OnConflict}, "shift_spread": {f.ShiftSpread}, "late": {f.Late}, "account_share": {f.AccountShare}, "alert_at": {f.AlertAt},
		"alert_to": {f.AlertTo}, "unknown_categories": {f.UnknownCategories}, "calendars": crlf(f.Calendars), "changes": crlf(f.Changes),
	}
	for i, c := range f.Categories {
		n := strconv.Itoa(i)
		for name, values := range map[string][]string{
			"category": {c.Name}, "category_rules": crlf(c.Rules), "category_throttle": {c.Throttle}, "category_shift_spread": {c.ShiftSpread}, "category_accounts": {c.Accounts}, "category_quiet_hours": crlf(c.QuietHours),
			"category_only": crlf(c.Only), "category_blackouts": crlf(c.Blackouts), "exempt_" + n: yes(c.Exempt), "uncounted_" + n: yes(c.Uncounted),
			"own_quiet_" + n: yes(c.OwnQuiet), "own_only_" + n: yes(c.OwnOnly), "own_blackouts_" + n: yes(c.OwnBlack),
		} {
			v[name] = append(v[name], values...)
		}
	}
	return v
}

// readBack reads a policy from the form that shows it.
func readBack(t require.TestingT, d policy.Document) policy.Document {
	p, err := d.Policy()
	require.NoError(t, err)
	body := sent(policyFormOf(message.PolicyOf(p))).Encode()
	r := httptest.NewRequest(http.MethodPost, "/policy/apply", strings.NewReader(body)) //nolint:names // it is only read
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	form := readPolicyForm(r)
	again, ok := form.check()
	require.True(t, ok, "%v", form.Wrong)
	require.Equal(t, d.Name, form.Name)
	require.Empty(t, again.Name, "the address has it")
	again.Name = d.Name
	return again
}

func drawDocument(t *rapid.T) policy.Document {
	some := func(name string, of ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, 2, rapid.ID).Draw(t, name)
	}
	rules := []string{"1/minute", "5/hour", "10/calendar_day", "7/90s", "3/calendar_month"}
	quiet := []string{"22:00-08:00", "sat-sun 20:00-10:00", "mon 12:00-13:00"}
	only := []string{"mon-fri 09:00-20:00", "sat 10:00-12:00"}
	black := []string{"12-25", "2026-12-24..2026-12-26"}
	d := policy.Document{
		Name: "drawn", Rules: append([]string{}, some("rules", rules...)...), QuietHours: some("quiet", quiet...), Only: some("only", only...), Blackouts: some("blackouts", black...),
		TimeZone: rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin"}).Draw(t, "zone"), UserTimeZone: rapid.Bool().Draw(t, "user zone"),
		Reach: rapid.SampledFrom([]string{"", "90d", "36h"}).Draw(t, "reach"), OnConflict: rapid.SampledFrom([]string{"", "refuse", "shift"}).Draw(t, "on conflict"),
		ShiftSpread: rapid.SampledFrom([]string{"", "30m"}).Draw(t, "shift spread"),
		Late:        rapid.SampledFrom([]string{"", "refuse", "now", "15m"}).Draw(t, "late"),
		AlertAt:     rapid.SampledFrom([][]int{nil, {}, {50}, {80, 100}}).Draw(t, "alerts"), AlertTo: rapid.SampledFrom([]string{"", "a@example.com"}).Draw(t, "to"),
	}
	if len(d.Rules) == 0 {
		d.Rules = []string{"1/minute"}
	}
	if rapid.Bool().Draw(t, "calendars") {
		d.Calendars = map[string][]string{"holidays": {"12-25", "2026-05-01"}, "none": {}}
		d.Blackouts = append(d.Blackouts, "holidays")
	}
	if rapid.Bool().Draw(t, "changes") {
		d.Changes = []policy.ChangeDocument{{From: "2026-11-25", Until: "2026-12-01", Rules: []string{"20/calendar_day"}}}
	}
	for _, name := range some("categories", "news", "otp", "a-1") {
		if d.Categories == nil {
			d.Categories = make(map[string]policy.CategoryDocument)
		}
		own := func(what string, of ...string) []string {
			return rapid.SampledFrom([][]string{nil, {}, of}).Draw(t, what)
		}
		c := policy.CategoryDocument{Exempt: rapid.Bool().Draw(t, "exempt")}
		if c.Exempt {
			if rapid.Bool().Draw(t, "uncounted") {
				c.Counts = new(bool)
			}
		} else {
			c.Rules = some("rules of it", rules...)
			c.QuietHours, c.Only, c.Blackouts = own("own quiet", quiet...), own("own only", only...), own("own blackouts", black...)
			c.Throttle = rapid.SampledFrom([]string{"", "100/minute"}).Draw(t, "throttle")
			c.ShiftSpread = rapid.SampledFrom([]string{"", "0s", "30m"}).Draw(t, "spread")
		}
		c.Accounts = rapid.SampledFrom([][]string{nil, {"acme"}, {"acme", "beta"}}).Draw(t, "accounts")
		d.Categories[name] = c
	}
	return d
}

// What the form shows of a policy is the policy: who applies it as it is changes nothing.
func TestAPolicyThroughItsForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		was, err := d.Policy()
		if err != nil {
			t.Skip("not every document that is drawn is allowed:", err)
		}
		is, err := readBack(t, d).Policy()
		require.NoError(t, err)
		require.True(t, was.Equal(is), "%+v\n%+v", was.Document(), is.Document())
	})
}

func TestConditionsOfAForm(t *testing.T) {
	t.Parallel()
	require.Equal(t, client.IfNone(), policyForm{}.condition())
	require.Equal(t, client.IfNone(), policyForm{Version: "0"}.condition())
	require.Equal(t, client.IfVersion("7"), policyForm{Version: "7"}.condition())
}

func TestPlacesInTheForm(t *testing.T) {
	t.Parallel()
	for field, place := range map[string]string{
		"rules": "rules", "categories.news.rules": "categories", "changes[0].rules": "changes", "quiet_hours[1]": "quiet_hours", "": "rules", "whatever": "rules", "name": "name",
	} {
		require.Equal(t, place, placeOf(field))
	}
}

func TestSettingsThroughTheirForm(t *testing.T) {
	t.Parallel()
	s := message.UserSettings{
		Contact: "a@example.com", Policy: "promo", TimeZone: "Asia/Tokyo", Limits: []string{"1/minute", "2/hour"}, QuietHours: []string{"22:00-08:00"},
		OptOut: []string{"ads", "news"}, Categories: map[string][]string{"news": {"1/day", "2/week"}, "otp": {"5/hour"}}, Blocked: true,
	}
	s.BestHours = make([]int, 168)
	s.BestHours[167] = 1000
	draft, err := settingsFormOf(s).draft()
	require.NoError(t, err)
	require.Equal(t, message.SettingsDraft{
		Contact: s.Contact, Policy: s.Policy, TimeZone: s.TimeZone, Limits: s.Limits, QuietHours: s.QuietHours, OptOut: s.OptOut, Categories: s.Categories, Blocked: true,
		BestHours: s.BestHours,
	}, draft)
	draft, err = settingsFormOf(message.UserSettings{}).draft()
	require.NoError(t, err)
	require.Equal(t, message.SettingsDraft{}, draft)
	_, err = settingsForm{BestHours: "1 2\n0.5"}.draft()
	require.ErrorContains(t, err, "best_hours[2], Monday at 02:00, is 0.5: give a whole number from 0 to 1000")
	require.Equal(t, []string{"a", "b c"}, fields(" a \r\n\r\n\n b c"))
}
