package sendlimittest

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// rule judges send times by one rule of a policy. All methods follow the
// definition in windows: the rule allows a time if each window that contains it
// has room for one more. Other windows do not matter. They may be overfull after
// a limit was lowered.
//
// A category's rule counts only messages of the category.
type rule struct {
	policy.Rule

	zone     *time.Location // of a calendar rule
	category string         // of a category's rule
	beside   bool           // it counts only places that no other rule counts
	account  string         // it counts only places of this account; "" for all
	whole    int            // the limit of the policy's rule, of an account's share of it; else 0
}

// counts returns the reservations that the rule counts.
func (r rule) counts(tl timeline) timeline {
	if r.account != "" {
		tl = slices.DeleteFunc(slices.Clone(tl), func(e entry) bool { return e.account != r.account && !e.taken })
	}
	switch {
	case r.beside:
		return slices.DeleteFunc(slices.Clone(tl), func(e entry) bool { return !e.uncounted && !e.taken })
	case r.category == "":
		return tl.counted()
	default:
		return tl.counted().ofCategory(r.category)
	}
}

// windows yields the windows that contain t, the earliest first. A calendar rule
// has only one, the natural period. A sliding rule has a window for every start,
// but those that start at t or at a reservation suffice: any other window can
// start later, at the first of its times, without losing any of them or t.
func (r rule) windows(tl timeline, t int64) iter.Seq[span] {
	return func(yield func(span) bool) {
		if r.Calendar() {
			yield(periodAt(r.Period, r.zone, t))
			return
		}
		length := r.Window.Milliseconds()
		for _, e := range tl.within(span{t - length + 1, t + 1}) {
			if !yield(span{e.at, e.at + length}) {
				return
			}
		}
		yield(span{t, t + length})
	}
}

// full reports whether a window has no room for one more.
func (r rule) full(tl timeline, window span) bool { return len(tl.within(window)) >= r.Limit }

// brokenAt reports whether a send at t would break the rule.
func (r rule) brokenAt(tl timeline, t int64) bool {
	tl = r.counts(tl)
	for window := range r.windows(tl, t) {
		if r.full(tl, window) {
			return true
		}
	}
	return false
}

// violation returns how a send at t would break the rule. It returns false if it
// would not.
func (r rule) violation(tl timeline, t int64) (sendlimit.Violation, bool) {
	tl = r.counts(tl)
	// All full windows contain t, so together they are one span.
	union := span{from: math.MaxInt64, until: math.MinInt64}
	for window := range r.windows(tl, t) {
		if r.full(tl, window) {
			union.from = min(union.from, window.from)
			union.until = max(union.until, window.until)
		}
	}
	if !union.contains(t) {
		return sendlimit.Violation{}, false
	}
	conflicts := tl.within(union)
	v := sendlimit.Violation{
		Rule:           r.Rule,
		Category:       r.category,
		Conflicts:      conflicts[:min(len(conflicts), sendlimit.MaxConflicts)].reservations(),
		ConflictsTotal: len(conflicts),
	}
	if r.Calendar() {
		v.From, v.Until = moment(union.from), moment(union.until)
	}
	if r.whole > 0 {
		v.Rule.Limit, v.Share = r.whole, r.Limit
	}
	return v, true
}

// usage returns the fullest window that contains t, the earliest of several equal
// ones.
func (r rule) usage(tl timeline, t int64) sendlimit.RuleUsage {
	tl = r.counts(tl)
	most, fullest := -1, span{}
	for window := range r.windows(tl, t) {
		if used := len(tl.within(window)); used > most {
			most, fullest = used, window
		}
	}
	return sendlimit.RuleUsage{
		Rule: r.Rule, Category: r.category, Used: most,
		From: moment(fullest.from), Until: moment(fullest.until),
	}
}

// affected returns the times that share a window with a send at t. Both ends of the
// span are monotonic in t.
func (r rule) affected(t int64) span {
	if r.Calendar() {
		return periodAt(r.Period, r.zone, t)
	}
	length := r.Window.Milliseconds()
	return span{t - length + 1, t + length}
}
