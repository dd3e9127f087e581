package sendlimittest

import (
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// terms are what the messages of one user and category have to obey: the
// overall rules, then those of the category, and quiet hours. The zero value
// allows everything: so are the terms of an exempt category.
type terms struct {
	rules []rule
	quiet quiet
}

// allow reports whether a send at t would break no rule and disturb nobody.
func (ts terms) allow(tl timeline, t int64) bool {
	return !ts.quiet.at(t) && !slices.ContainsFunc(ts.rules, func(r rule) bool { return r.breaks(tl, t) })
}

// violations has every rule that a send at t would break; nil for none.
func (ts terms) violations(tl timeline, t int64) []sendlimit.Violation {
	var vs []sendlimit.Violation
	for _, r := range ts.rules {
		if v, ok := r.violation(tl, t); ok {
			vs = append(vs, v)
		}
	}
	return vs
}
