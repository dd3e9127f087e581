package rules

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// policySet is the policies between two changes.
type policySet struct {
	own        policy.Policy
	others     []policy.Policy // by name
	unreadable []string        // names of those that a newer program wrote
	missing    error           // why there is no own policy; nil if there is one
	unusable   error           // why Rules refused the set; nil if it did not
	remembers  time.Duration   // the longest former window that still matters, see settings.Former

	byName map[string]policy.Policy
	labels func() map[string]bool // the rules by Violation.Name
}

// err returns why the set can't judge messages, nil if it can.
func (s *policySet) err() error {
	if s.missing != nil {
		return s.missing
	}
	return s.unusable
}

// tell logs changes.
func (p *Policies) tell(ctx context.Context, before, now *policySet) {
	for _, policy := range now.all() {
		old, _ := before.find(policy.Name)
		if !same(old, policy) {
			p.logger.InfoContext(ctx, "the policy changed", "policy", policy.Name,
				"version_before", old.Version, "version", policy.Version, "rules", policy)
		}
	}
	for _, policy := range before.all() {
		if _, there := now.find(policy.Name); !there && !slices.Contains(now.unreadable, policy.Name) {
			p.logger.WarnContext(ctx, "the policy is gone, and nothing is accepted under it: apply it anew", "policy", policy.Name)
		}
	}
	p.tellUnreadable(ctx, before.unreadable, now.unreadable)
}

func (p *Policies) tellUnreadable(ctx context.Context, before, now []string) {
	for _, name := range now {
		if !slices.Contains(before, name) {
			p.logger.WarnContext(ctx, "the policy can't be read, and nothing is accepted under it:"+
				" apply it anew, or run the newer program that wrote it", "policy", name)
		}
	}
}

func (p *Policies) setOf(policies []policy.Policy, unreadable []string) *policySet {
	set := &policySet{unreadable: unreadable, byName: make(map[string]policy.Policy, len(policies))}
	for _, policy := range policies {
		set.byName[policy.Name] = policy
		if policy.Name == p.name {
			set.own = policy
		} else {
			set.others = append(set.others, policy)
		}
	}
	set.labels = sync.OnceValue(set.makeLabels)
	switch {
	case set.own.Name != "":
	case slices.Contains(unreadable, p.name):
		set.missing = &fault.UnavailableError{
			Detail: fmt.Sprintf("the rules of policy %q in the store can't be read: apply them again, or run the newer program that wrote them", p.name),
		}
	default:
		set.missing = NoRules()
	}
	return set
}

// changed returns the set after a change of the policies with some names: now has the present ones,
// and unreadable those that a newer program wrote. It returns the same set if nothing is different.
func (p *Policies) changed(s *policySet, names []string, now []policy.Policy, unreadable []string) *policySet {
	wereUnreadable := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(s.unreadable, name) })
	different := !slices.Equal(wereUnreadable, unreadable)
	there := 0
	for _, policy := range now {
		known, ok := s.byName[policy.Name]
		different = different || !ok || !same(known, policy)
	}
	for _, name := range names {
		if _, ok := s.byName[name]; ok {
			there++
		}
	}
	if !different && there == len(now) {
		return s
	}
	byName := maps.Clone(s.byName)
	for _, name := range names {
		delete(byName, name)
	}
	for _, policy := range now {
		byName[policy.Name] = policy
	}
	policies := make([]policy.Policy, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		policies = append(policies, byName[name])
	}
	others := slices.DeleteFunc(slices.Clone(s.unreadable), func(name string) bool { return slices.Contains(names, name) })
	others = append(others, unreadable...)
	slices.Sort(others)
	return p.setOf(policies, others)
}

func (s *policySet) makeLabels() map[string]bool {
	labels := make(map[string]bool)
	for _, policy := range s.byName {
		for _, rule := range policy.Rules {
			labels[message.RuleName("", rule)] = true
		}
		for category, its := range policy.Categories {
			for _, rule := range its.Rules {
				labels[message.RuleName(category, rule)] = true
			}
		}
	}
	return labels
}

// NoRules returns the *fault.UnavailableError of a store without policies.
func NoRules() error {
	return &fault.UnavailableError{
		Detail: "the store has no rules yet: start a worker on it, or apply a policy",
	}
}

// all returns the readable policies, the own one first.
func (s *policySet) all() []policy.Policy {
	if s.missing != nil {
		return s.others
	}
	return append([]policy.Policy{s.own}, s.others...)
}

func (s *policySet) find(name string) (policy.Policy, bool) {
	found, ok := s.byName[name]
	return found, ok
}

func (s *policySet) equal(other *policySet) bool {
	return s == other || s.remembers == other.remembers && same(s.own, other.own) && slices.EqualFunc(s.others, other.others, same) && slices.Equal(s.unreadable, other.unreadable)
}

// same reports whether two policies are equal and have the same version: a policy that was
// changed and changed back differs.
func same(p, other policy.Policy) bool { return p.Version == other.Version && p.Equal(other) }
