package rules

import (
	"context"
	"slices"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// WhatIf replaces rules of the store in a dry run. The zero value changes nothing.
type WhatIf struct {
	// Policy replaces the policy of its name, which the store must have; nil replaces
	// none.
	Policy *policy.Policy
	// Rules replace the rules of that policy with the same window, or are added, at
	// most one for each window. Without a Policy they change the policy of users
	// whose settings name none.
	Rules []policy.Rule
}

// WhatIf returns the rules of the store with the changes of w, and the changed policy.
// They share nothing with Rules. The error is a *fault.InvalidError, or says that the
// store did not answer.
func (p *Policies) WhatIf(ctx context.Context, w WhatIf) (*sendlimit.Rules, policy.Policy, error) {
	set, err := p.present(ctx)
	if err == nil {
		err = set.err()
	}
	if err != nil {
		return nil, policy.Policy{}, err
	}
	changed, err := w.Changed(set.own)
	if err != nil {
		return nil, changed, err
	}
	own, others, err := set.with(changed)
	if err != nil {
		return nil, changed, err
	}
	rules, err := sendlimit.NewRules(append([]policy.Policy{own}, others...)...)
	return rules, changed, err
}

// Changed returns the policy that replaces the one of its name. The error is a
// *fault.InvalidError.
func (w WhatIf) Changed(own policy.Policy) (policy.Policy, error) {
	policy := own
	if w.Policy != nil {
		policy = *w.Policy
	}
	policy.Rules = slices.Clone(policy.Rules)
	for i, rule := range w.Rules {
		if slices.ContainsFunc(w.Rules[:i], rule.SameWindow) {
			return policy, fault.Wrong("what-if", "the rule %s has the window of another one: give one rule for each window", rule)
		}
		policy.Rules = withRule(policy.Rules, rule)
	}
	return policy, policy.Validate()
}

// with returns the policies of a set, with changed in place of the one of its name. The
// error is a *fault.InvalidError if there is none.
func (s *policySet) with(changed policy.Policy) (own policy.Policy, others []policy.Policy, err error) {
	others = slices.Clone(s.others)
	i := slices.IndexFunc(others, func(p policy.Policy) bool { return p.Name == changed.Name })
	switch {
	case changed.Name == s.own.Name:
		return changed, others, nil
	case i >= 0:
		others[i] = changed
		return s.own, others, nil
	case slices.Contains(s.unreadable, changed.Name):
		return s.own, append(others, changed), nil
	default:
		return s.own, others, fault.Wrong("policy", "there is no policy %q: %s", fault.Clip(changed.Name), message.ThereAre(changed.Name, s.policyNames()))
	}
}

// policyNames returns the names of all policies, ascending.
func (s *policySet) policyNames() []string {
	names := slices.Clone(s.unreadable)
	for _, policy := range s.all() {
		names = append(names, policy.Name)
	}
	slices.Sort(names)
	return names
}

// withRule replaces the rules that have the window of a rule, or appends the rule.
func withRule(rules []policy.Rule, rule policy.Rule) []policy.Rule {
	i := slices.IndexFunc(rules, rule.SameWindow)
	if i < 0 {
		return append(rules, rule)
	}
	rules[i] = rule
	rest := slices.DeleteFunc(rules[i+1:], rule.SameWindow)
	return rules[:i+1+len(rest)]
}
