package sendlimit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Bounds of a policy.
const (
	MaxCategories  = 100 // with something of their own
	MaxPolicyRules = 50  // overall, and of a category
)

// Validate says whether the policy has a name and rules, each valid, no two
// equal, a time zone that exists, and all else within its bounds: messages can be
// judged by it. A PolicyStore is more particular, see PolicyStore.Replace. The
// error is an *InvalidError.
func (p Policy) Validate() error {
	if !validName(p.Name) {
		return &InvalidError{Field: "policy", Value: p.Name, Want: wantName}
	}
	if len(p.Rules) == 0 {
		return &InvalidError{Field: "rules", Value: "[]", Want: "at least one rule such as 5/hour"}
	}
	if err := validateRules(p.Rules, "rules"); err != nil {
		return err
	}
	if err := p.validateReach(); err != nil {
		return err
	}
	switch p.OnConflict {
	case "", Refuse, Shift:
	default:
		return &InvalidError{Field: "on_conflict", Value: string(p.OnConflict), Want: "refuse or shift"}
	}
	if err := p.validateCategories(); err != nil {
		return err
	}
	if err := p.validateAlerts(); err != nil {
		return err
	}
	_, err := p.location()
	return err
}

const wantName = "a name of 1 to 64 of a-z 0-9 _ -"

// validateRules checks a list of rules, to which errors refer by field unless a
// rule is wrong in itself.
func validateRules(rules []Rule, field string) error {
	if len(rules) > MaxPolicyRules {
		return &InvalidError{
			Field: field, Value: strconv.Itoa(len(rules)) + " rules",
			Want: fmt.Sprintf("at most %d rules", MaxPolicyRules),
		}
	}
	seen := make(map[Rule]bool, len(rules))
	for _, r := range rules {
		if err := r.Validate(); err != nil {
			return err
		}
		if seen[r] {
			return &InvalidError{Field: field, Value: r.String(), Want: "each rule once"}
		}
		seen[r] = true
	}
	return nil
}

// validateWindows says whether no two rules of the policy, or of one of its
// categories, have the same window. Such rules can be judged, and older programs
// stored them. But the tightest alone counts, and a user's limit, which stands for
// the rule of its window, would loosen what the other was to hold: so they are not
// taken anew.
func (p Policy) validateWindows() error {
	if err := oneRuleEach(p.Rules, "rules"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		if err := oneRuleEach(p.Categories[name].Rules, "categories."+name+".rules"); err != nil {
			return err
		}
	}
	return nil
}

// oneRuleEach checks that a list, to which the error refers by field, has one rule
// for each window.
func oneRuleEach(rules []Rule, field string) error {
	for i, r := range rules {
		if before := slices.IndexFunc(rules[:i], r.SameWindow); before >= 0 {
			return &InvalidError{
				Field: field, Value: r.String(),
				Want: fmt.Sprintf("one rule for each window, which %s has already", rules[before]),
			}
		}
	}
	return nil
}

func (p Policy) validateReach() error {
	if p.Reach == 0 || p.Reach >= time.Second && p.Reach <= DefaultReach && p.Reach%time.Second == 0 {
		return nil
	}
	return &InvalidError{Field: "reach", Value: p.Reach.String(), Want: wantReach}
}

func (p Policy) validateCategories() error {
	if len(p.Categories) > MaxCategories {
		return &InvalidError{
			Field: "categories", Value: strconv.Itoa(len(p.Categories)) + " categories",
			Want: fmt.Sprintf("at most %d categories", MaxCategories),
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		if !validName(name) { // which is spelled alike
			return &InvalidError{Field: "categories", Value: name, Want: wantName}
		}
		if err := p.Categories[name].validate("categories." + name); err != nil {
			return err
		}
	}
	return nil
}

func (c CategoryRules) validate(field string) error {
	switch {
	case c.Exempt && len(c.Rules) > 0:
		return &InvalidError{
			Field: field, Value: joinRules(c.Rules, ", "),
			Want: "either rules or exempt: true, as an exempt message is judged by none",
		}
	case c.Uncounted && !c.Exempt:
		return &InvalidError{Field: field + ".counts", Value: "false", Want: "true, or exempt: true beside it: what is judged counts"}
	case !c.Exempt && len(c.Rules) == 0:
		return &InvalidError{Field: field, Value: "{}", Want: "at least one rule such as 2/calendar_day, or exempt: true"}
	}
	return inField(validateRules(c.Rules, field+".rules"), field+".rules")
}

// inField has an *InvalidError name a field as those spell it who gave the value.
func inField(err error, field string) error {
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		return &InvalidError{Field: field, Value: invalid.Value, Want: invalid.Want}
	}
	return err
}

func (p Policy) location() (*time.Location, error) { return parseTimeZone(p.TimeZone) }

// parseTimeZone finds an IANA time zone; "" is UTC. The process's own, Local, is
// none. The error is an *InvalidError for the field "time_zone".
func parseTimeZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &InvalidError{
			Field: "time_zone", Value: name,
			Want: "an IANA time zone such as Europe/Berlin",
		}
	}
	return zone, nil
}
