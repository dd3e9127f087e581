package heavy

import (
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const exempt, counted = "otp", "news" // categories

// Case has the rules that judge the messages.
type Case struct {
	Name         string
	Policy       policy.Policy
	PlacesPerDay int
	Category     string // of the messages that are judged
}

// Cases returns cases with few rules and small limits, with large limits, and with the maximum of
// rules of the policy and of its category. The last ones have quiet hours and a zone with clock
// changes.
func Cases() ([]Case, error) {
	var wrong error
	rulesOf := func(name, zone string, rules ...string) policy.Policy {
		p, err := policy.Parse(name, zone, rules...)
		wrong = errors.Join(wrong, err)
		return p
	}
	narrow := rulesOf("narrow", "", "1/minute", "5/hour", "10/calendar_day", "100/day")
	narrow.Categories = map[string]policy.CategoryRules{
		exempt: {Exempt: true}, "news": {Rules: rulesOf("news", "", "1/day", "900/7d").Rules},
	}
	wide := rulesOf("wide", "", "1000/minute", "1000/day", "1000/30d", "1000/calendar_month")
	wide.Categories = map[string]policy.CategoryRules{exempt: {Exempt: true}}
	large := rulesOf("many", "America/New_York", manyRules(func(int) int { return policy.MaxLimit })...)
	small := rulesOf("many", "America/New_York", manyRules(func(k int) int { return min(1+k*k, policy.MaxLimit) })...)
	for _, p := range []*policy.Policy{&narrow, &wide, &large, &small} {
		p.AlertAt, p.AlertTo = []int{80, 100}, "ops@example.com"
	}
	for _, p := range []*policy.Policy{&large, &small} {
		p.QuietHours, wrong = quietHours(wrong, "22:00-07:30", "sat,sun 00:00-12:00")
		own, failed := quietHours(wrong, "21:00-08:00", "12:00-13:00")
		wrong = failed
		p.Categories = map[string]policy.CategoryRules{
			exempt: {Exempt: true}, counted: {Rules: p.Rules, QuietHours: &own},
		}
	}
	return []Case{
		{"narrow", narrow, policy.MaxPlacesPerDay, ""},
		{"bounded", narrow, policy.DefaultPlacesPerDay, ""},
		{"wide", wide, policy.MaxPlacesPerDay, ""},
		{"many-large", large, policy.MaxPlacesPerDay, counted},
		{"many-small", small, policy.MaxPlacesPerDay, counted},
	}, wrong
}

// Options returns the options of a timeline for the case.
func (c Case) Options() (sendlimit.Options, error) {
	rules, err := sendlimit.NewRules(c.Policy)
	return sendlimit.Options{Records: true, Rules: rules, PlacesPerDay: c.PlacesPerDay}, err
}

func quietHours(failed error, lines ...string) (policy.WeekHours, error) {
	hours, err := policy.ParseQuietHours(lines...)
	return hours, errors.Join(failed, err)
}

// manyRules returns as many rules as a policy may have, with windows from a natural
// minute to a month, and from one minute to almost half a year.
func manyRules(limit func(k int) int) []string {
	var rules []string
	for k, period := range []string{"minute", "hour", "day", "week", "month"} {
		rules = append(rules, fmt.Sprintf("%d/calendar_%s", limit(10*k), period))
	}
	for k := 1; len(rules) < policy.MaxRules; k++ {
		rules = append(rules, fmt.Sprintf("%d/%ds", limit(k), k*k*int(2*time.Hour/time.Second)))
	}
	return rules
}
