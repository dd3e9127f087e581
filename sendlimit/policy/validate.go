package policy

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Bounds of a policy.
const (
	MaxCategories = 100 // of a policy
	MaxRules      = 50  // of a policy, and of each category
)

// Validate checks that messages can be judged by the policy: it has a name, valid rules without
// duplicates and a known time zone, and everything else is within its bounds. A policy to be stored
// has to pass ValidateWindows too. The error is a *fault.InvalidError, or fault.InvalidErrors.
func (p Policy) Validate() error {
	var wrong fault.InvalidErrors
	if !keyspace.ValidName(p.Name) {
		wrong.Add(&fault.InvalidError{Field: "policy", Value: p.Name, Want: keyspace.WantName})
	}
	if len(p.Rules) == 0 {
		wrong.Add(&fault.InvalidError{Field: "rules", Value: "[]", Says: "a policy needs at least one rule, such as 5/hour"})
	}
	wrong.Add(validateRules(p.Rules, "rules"))
	wrong.Add(p.validateReach())
	wrong.Add(p.validateAccountShare())
	wrong.Add(p.validateLate())
	wrong.Add(validateShiftSpread(p.ShiftSpread, "shift_spread"))
	switch p.OnConflict {
	case "", Refuse, Shift:
	default:
		wrong.Add(&fault.InvalidError{Field: "on_conflict", Value: string(p.OnConflict), Want: "refuse or shift"})
	}
	switch p.UnknownCategories {
	case "", RefuseUnknown, AllowUnknown:
	default:
		wrong.Add(&fault.InvalidError{Field: "unknown_categories", Value: string(p.UnknownCategories), Want: "refuse or allow"})
	}
	wrong.Add(p.validateCategories())
	wrong.Add(p.validateQuiet())
	wrong.Add(p.validateBlackouts())
	wrong.Add(p.validateAlerts())
	_, err := p.Location()
	wrong.Add(err)
	wrong.Add(p.validateChanges())
	return wrong.Err()
}

// validateRules checks a list of rules. Errors about the list name the field.
func validateRules(rules []Rule, field string) error {
	if len(rules) > MaxRules {
		return &fault.InvalidError{
			Field: field, Says: fmt.Sprintf("%s has %d rules: at most %d are allowed", field, len(rules), MaxRules),
		}
	}
	var wrong fault.InvalidErrors
	seen := make(map[Rule]bool, len(rules))
	for _, r := range rules {
		wrong.Add(r.Validate())
		if seen[r] {
			wrong.Add(&fault.InvalidError{Field: field, Value: r.String(), Says: fmt.Sprintf("%s has the rule %s twice", field, r)})
		}
		seen[r] = true
	}
	return wrong.Err()
}

// ValidateWindows checks that no two rules of the policy, or of one of its categories, have the
// same window. Such rules can be judged, but the store refuses them: only the tighter one would
// count, and a user's limit would replace both.
func (p Policy) ValidateWindows() error {
	var wrong fault.InvalidErrors
	wrong.Add(oneRuleEach(p.Rules, "rules"))
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		wrong.Add(oneRuleEach(p.Categories[name].Rules, "categories."+name+".rules"))
	}
	for i, c := range p.Changes {
		var own fault.InvalidErrors
		own.Add(Policy{Rules: c.Rules, Categories: c.Categories}.ValidateWindows())
		wrong = append(wrong, inChange(i, own)...)
	}
	return wrong.Err()
}

// oneRuleEach checks that a list has one rule for each window. validateRules finds equal rules.
// Errors name the field.
func oneRuleEach(rules []Rule, field string) error {
	var wrong fault.InvalidErrors
	for i, r := range rules {
		before := slices.IndexFunc(rules[:i], r.SameWindow)
		if before >= 0 && !slices.Contains(rules[:i], r) {
			wrong.Add(&fault.InvalidError{
				Field: field, Value: r.String(),
				Says: fmt.Sprintf("%s has %s and %s, which have the same window: keep one of them", field, rules[before], r),
			})
		}
	}
	return wrong.Err()
}

func (p Policy) validateReach() error {
	if p.Reach == 0 || p.Reach >= time.Second && p.Reach <= DefaultReach && p.Reach%time.Second == 0 {
		return nil
	}
	return &fault.InvalidError{Field: "reach", Value: p.Reach.String(), Want: wantReach}
}

func (p Policy) validateCategories() error {
	if len(p.Categories) > MaxCategories {
		return &fault.InvalidError{
			Field: "categories", Says: fmt.Sprintf("there are %d categories: a policy has at most %d", len(p.Categories), MaxCategories),
		}
	}
	var wrong fault.InvalidErrors
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		switch {
		case !keyspace.ValidName(name):
			wrong.Add(&fault.InvalidError{Field: "categories", Value: name, Want: keyspace.WantName})
		case name == AllCategories:
			wrong.Add(&fault.InvalidError{Field: "categories", Value: name, Want: "another name: it stands for all categories in the opt_out of a user"})
		default:
			wrong.Add(p.Categories[name].validate("categories." + name))
		}
	}
	return wrong.Err()
}

func (c CategoryRules) validate(field string) error {
	switch {
	case c.Exempt && len(c.Rules) > 0:
		return &fault.InvalidError{
			Field: field, Value: JoinRules(c.Rules, ", "),
			Says: field + " has rules and exempt: true: an exempt message is judged by no rule, so give one of the two",
		}
	case c.Uncounted && !c.Exempt:
		return &fault.InvalidError{Field: field + ".counts", Value: "false", Says: field + " has counts: false without exempt: true: messages that are judged also count"}
	case c.Exempt && c.HasQuiet():
		return &fault.InvalidError{
			Field: field, Value: c.String(),
			Says: field + " has quiet times and exempt: true: an exempt message is sent at any time, so give one of the two",
		}
	case c.Exempt && !c.Throttle.IsZero():
		return &fault.InvalidError{
			Field: field, Value: c.Throttle.String(),
			Says: field + " has a throttle and exempt: true: an exempt message is sent at any time, so give one of the two",
		}
	case c.Exempt && c.ShiftSpread != nil:
		return &fault.InvalidError{
			Field: field, Value: formatShiftSpread(c.ShiftSpread),
			Says: field + " has shift_spread and exempt: true: an exempt message is sent at any time, so give one of the two",
		}
	case !c.Exempt && len(c.Rules) == 0 && !c.HasQuiet() && c.ShiftSpread == nil && c.Throttle.IsZero():
		return &fault.InvalidError{
			Field: field, Value: "{}",
			Says: field + " needs at least one rule, such as 2/calendar_day, or quiet_hours, only or blackouts, or shift_spread, or a throttle, or exempt: true",
		}
	}
	var wrong fault.InvalidErrors
	wrong.Add(fault.InField(validateRules(c.Rules, field+".rules"), field+".rules"))
	wrong.Add(c.Throttle.validate(field + ".throttle"))
	if c.ShiftSpread != nil {
		wrong.Add(validateShiftSpread(*c.ShiftSpread, field+".shift_spread"))
	}
	wrong.Add(validateAccounts(c.Accounts, field+".accounts"))
	return wrong.Err()
}

func validateAccounts(accounts []string, field string) error {
	if len(accounts) > MaxAccounts {
		return &fault.InvalidError{
			Field: field, Says: fmt.Sprintf("%s has %d accounts: a category names at most %d", field, len(accounts), MaxAccounts),
		}
	}
	var wrong fault.InvalidErrors
	for i, account := range accounts {
		switch {
		case !keyspace.ValidName(account): // accounts and policies have the same form of names
			wrong.Add(&fault.InvalidError{Field: field, Value: account, Want: keyspace.WantName})
		case slices.Contains(accounts[:i], account):
			wrong.Add(&fault.InvalidError{Field: field, Value: account, Want: "each account once"})
		}
	}
	return wrong.Err()
}

// validateQuiet checks that the hours of each category leave a time of the week.
func (p Policy) validateQuiet() error {
	var wrong fault.InvalidErrors
	check := func(field, category string) {
		q := p.Quiet(category, WeekHours{})
		if q.Always() && !q.hours.always() { // else refused when the hours were parsed
			wrong.Add(&fault.InvalidError{
				Field: field, Value: q.only.String(),
				Says: fmt.Sprintf("%s %s is entirely within the quiet hours %s: nothing could ever be sent", field, q.only, q.hours),
			})
		}
	}
	check("only", "")
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		if c := p.Categories[name]; c.QuietHours != nil || c.Only != nil {
			check("categories."+name+".only", name)
		}
	}
	return wrong.Err()
}

// Location returns the policy's time zone.
func (p Policy) Location() (*time.Location, error) { return calendar.ParseTimeZone(p.TimeZone) }
