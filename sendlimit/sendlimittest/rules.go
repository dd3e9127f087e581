package sendlimittest

import (
	"iter"
	"math"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// rule judges send times by one rule of a policy. All its methods go back to
// the definition in windows: the rule allows a time when each window that
// contains it has room for one more. Windows that do not contain the time are
// not judged, so that older ones, overfull since a limit was lowered, forbid
// nothing elsewhere.
//
// A category's rule counts only what is of that category.
type rule struct {
	policy.Rule

	zone     *time.Location // of a calendar rule
	category string         // of a category's rule
}

// counts returns the reservations that the rule is about.
func (r rule) counts(tl timeline) timeline {
	if r.category == "" {
		return tl
	}
	return tl.of(r.category)
}

// windows yields the windows that contain t, those from earlier on first. The
// only one of a calendar rule is the natural period. A sliding rule has one
// for every start, but it is enough to look at those that start at t or at a
// reservation: any other can start later, at the first of the times in it,
// without losing any of them or t.
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

// breaks reports whether a send at t would break the rule.
func (r rule) breaks(tl timeline, t int64) bool {
	tl = r.counts(tl)
	for window := range r.windows(tl, t) {
		if r.full(tl, window) {
			return true
		}
	}
	return false
}

// violation says what is in the way of a send at t; false where nothing is.
func (r rule) violation(tl timeline, t int64) (sendlimit.Violation, bool) {
	tl = r.counts(tl)
	// All windows in the way contain t, so that together they are one span.
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
	return v, true
}

// usage returns the fullest window that contains t, the earliest of several.
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

// around returns the times that have a window in common with a send at t.
// Neither end of it moves back as t moves on.
func (r rule) around(t int64) span {
	if r.Calendar() {
		return periodAt(r.Period, r.zone, t)
	}
	length := r.Window.Milliseconds()
	return span{t - length + 1, t + length}
}
