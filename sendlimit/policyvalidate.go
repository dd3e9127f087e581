package sendlimit

import (
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
// error is an *InvalidError, or InvalidErrors.
func (p Policy) Validate() error {
	var wrong InvalidErrors
	if !validName(p.Name) {
		wrong.add(&InvalidError{Field: "policy", Value: p.Name, Want: wantName})
	}
	if len(p.Rules) == 0 {
		wrong.add(&InvalidError{Field: "rules", Value: "[]", Want: "at least one rule such as 5/hour"})
	}
	wrong.add(validateRules(p.Rules, "rules"))
	wrong.add(p.validateReach())
	switch p.OnConflict {
	case "", Refuse, Shift:
	default:
		wrong.add(&InvalidError{Field: "on_conflict", Value: string(p.OnConflict), Want: "refuse or shift"})
	}
	wrong.add(p.validateCategories())
	wrong.add(p.validateAlerts())
	_, err := p.location()
	wrong.add(err)
	return wrong.err()
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
	var wrong InvalidErrors
	seen := make(map[Rule]bool, len(rules))
	for _, r := range rules {
		wrong.add(r.Validate())
		if seen[r] {
			wrong.add(&InvalidError{Field: field, Value: r.String(), Want: "each rule once"})
		}
		seen[r] = true
	}
	return wrong.err()
}

// validateWindows says whether no two rules of the policy, or of one of its
// categories, have the same window. Such rules can be judged, and older programs
// stored them. But the tightest alone counts, and a user's limit, which stands for
// the rule of its window, would loosen what the other was to hold: so they are not
// taken anew.
func (p Policy) validateWindows() error {
	var wrong InvalidErrors
	wrong.add(oneRuleEach(p.Rules, "rules"))
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		wrong.add(oneRuleEach(p.Categories[name].Rules, "categories."+name+".rules"))
	}
	return wrong.err()
}

// oneRuleEach checks that a list, to which errors refer by field, has one rule for
// each window. Of equal ones validateRules says so.
func oneRuleEach(rules []Rule, field string) error {
	var wrong InvalidErrors
	for i, r := range rules {
		before := slices.IndexFunc(rules[:i], r.SameWindow)
		if before >= 0 && !slices.Contains(rules[:i], r) {
			wrong.add(&InvalidError{
				Field: field, Value: r.String(),
				Want: fmt.Sprintf("one rule for each window, which %s has already", rules[before]),
			})
		}
	}
	return wrong.err()
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
	var wrong InvalidErrors
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		if validName(name) { // which is spelled alike
			wrong.add(p.Categories[name].validate("categories." + name))
		} else {
			wrong.add(&InvalidError{Field: "categories", Value: name, Want: wantName})
		}
	}
	return wrong.err()
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

// inField has an *InvalidError, or InvalidErrors, name a field as those spell it who
// gave the value.
func inField(err error, field string) error {
	var given, named InvalidErrors
	given.add(err)
	for _, invalid := range given {
		named = append(named, &InvalidError{Field: field, Value: invalid.Value, Want: invalid.Want})
	}
	if named == nil {
		return err
	}
	return named.err()
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
