package sendlimittest

import (
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// terms are the rules and quiet hours for the messages of one user and category:
// the overall rules, then those of the category. The zero value allows everything;
// exempt categories have it.
type terms struct {
	rules []rule
	quiet quiet
}

// allow reports whether t is outside quiet hours and would break no rule.
func (ts terms) allow(tl timeline, t int64) bool {
	return !ts.quiet.covers(t) && !slices.ContainsFunc(ts.rules, func(r rule) bool { return r.brokenAt(tl, t) })
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
