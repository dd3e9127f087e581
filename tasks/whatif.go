package tasks

import (
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// WhatIf are rules that a rehearsal judges by in place of the store's. The zero
// value changes nothing.
type WhatIf struct {
	// Policy stands in for the policy of its name or, where the store has none of
	// it, for the one that all follow whose settings name no other; nil changes
	// none.
	Policy *sendlimit.Policy
	// Rules stand in for those of that policy that have the same window, or are
	// added to them, at most one of each window.
	Rules []sendlimit.Rule
}

// in puts the rules in the place of those of a set. The error is a
// *sendlimit.InvalidError.
func (w WhatIf) in(set *policySet) (own sendlimit.Policy, others []sendlimit.Policy, err error) {
	own, others = set.own, slices.Clone(set.others)
	changed := own
	if w.Policy != nil {
		changed = *w.Policy
	}
	changed.Rules = slices.Clone(changed.Rules)
	for i, rule := range w.Rules {
		if slices.ContainsFunc(w.Rules[:i], func(r sendlimit.Rule) bool { return sameWindow(r, rule) }) {
			return own, others, invalid("what-if", rule.String(), "one rule of each window")
		}
		changed.Rules = withRule(changed.Rules, rule)
	}
	if err := changed.Validate(); err != nil {
		return own, others, err
	}
	for i := range others {
		if others[i].Name == changed.Name {
			others[i] = changed
			return own, others, nil
		}
	}
	if changed.Name != own.Name {
		named := changed // for those, too, whose settings name the one that it stands in for
		named.Name = own.Name
		others = append(others, named)
	}
	return changed, others, nil
}

// withRule puts a rule in the place of those that have its window, or at the end.
func withRule(rules []sendlimit.Rule, rule sendlimit.Rule) []sendlimit.Rule {
	i := slices.IndexFunc(rules, func(r sendlimit.Rule) bool { return sameWindow(r, rule) })
	if i < 0 {
		return append(rules, rule)
	}
	rules[i] = rule
	rest := slices.DeleteFunc(rules[i+1:], func(r sendlimit.Rule) bool { return sameWindow(r, rule) })
	return rules[:i+1+len(rest)]
}

func sameWindow(r, other sendlimit.Rule) bool {
	return r.Window == other.Window && r.Period == other.Period
}
