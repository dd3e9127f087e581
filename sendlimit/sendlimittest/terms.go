package sendlimittest

import (
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// terms are the rules and quiet hours for the messages of one user and category:
// the overall rules, then those of the category. The zero value allows everything;
// exempt categories have it, but for the bound.
type terms struct {
	rules []rule
	quiet quiet
	// spread is the length of the spread of shifts, ms; 0 for none.
	spread int64
	// disturbs is before which time the user gets nothing; 0 for none.
	disturbs int64
	// places bounds the places of a day of UTC, also of exempt categories; nil for any
	// number. Those that count and those that do not each have the bound.
	places *rule
	// share bounds those of the message's account; nil for any number.
	share *rule
}

// broken reports whether a bound of the day of t, nil for none, has as many places as are allowed.
func broken(bound *rule, tl timeline, t int64) bool { return bound != nil && bound.brokenAt(tl, t) }

// all returns the rules and the bounds.
func (ts terms) all() []rule {
	all := slices.Clone(ts.rules)
	for _, bound := range []*rule{ts.places, ts.share} {
		if bound != nil {
			all = append(all, *bound)
		}
	}
	return all
}

// allow reports whether t is not before disturbs, outside quiet hours, and would break no rule.
func (ts terms) allow(tl timeline, t int64) bool {
	return t >= ts.disturbs && !ts.quiet.covers(t) && !slices.ContainsFunc(ts.all(), func(r rule) bool { return r.brokenAt(tl, t) })
}

// violations returns all rules that a send at t would break, nil for none.
func (ts terms) violations(tl timeline, t int64) []sendlimit.Violation {
	var vs []sendlimit.Violation
	for _, r := range ts.rules {
		if v, ok := r.violation(tl, t); ok {
			vs = append(vs, v)
		}
	}
	return vs
}
