package sendlimittest

import (
	"math"
	"sort"
)

// A rule's answer changes only where a time enters or leaves the span that a
// reservation affects, and the answer of quiet hours only where they begin or
// end. So the searches below judge one such edge after the other. All times
// between two edges have the same answer.

// nextFree returns the earliest allowed time in [from, last].
func (ts terms) nextFree(tl timeline, from, last int64) (int64, bool) {
	for t := from; t <= last; t = ts.nextEdge(tl, t, leaving) {
		if ts.allow(tl, t) {
			return t, true
		}
	}
	return 0, false
}

// previousFree returns the latest allowed time in [first, from].
func (ts terms) previousFree(tl timeline, from, first int64) (int64, bool) {
	for t := from; t >= first; t = ts.previousEdge(tl, t) {
		if ts.allow(tl, t) {
			return t, true
		}
	}
	return 0, false
}

// freeSpans returns the longest spans within s in which all times are allowed,
// ascending.
func (ts terms) freeSpans(tl timeline, s span) []span {
	var free []span
	for t := s.from; t < s.until; {
		from, ok := ts.nextFree(tl, t, s.until-1)
		if !ok {
			break
		}
		t = ts.nextForbidden(tl, from, s.until)
		free = append(free, span{from, t})
	}
	return free
}

// nextForbidden returns the earliest time in [from, until) that is not allowed,
// or until.
func (ts terms) nextForbidden(tl timeline, from, until int64) int64 {
	for t := from; t < until; t = ts.nextEdge(tl, t, entering) {
		if !ts.allow(tl, t) {
			return t
		}
	}
	return until
}

// entering returns the first time in a span, leaving the first time after it.
func entering(s span) int64 { return s.from }
func leaving(s span) int64  { return s.until }

// nextEdge returns the earliest edge after t of quiet hours, rules and
// reservations. Without one it returns the largest time.
func (ts terms) nextEdge(tl timeline, t int64, edge func(span) int64) int64 {
	next := ts.quiet.nextEdge(t)
	if t < ts.disturbs {
		next = min(next, ts.disturbs)
	}
	for _, r := range ts.all() {
		tl := r.counts(tl)
		i := sort.Search(len(tl), func(i int) bool { return edge(r.affected(tl[i].at)) > t })
		if i < len(tl) {
			next = min(next, edge(r.affected(tl[i].at)))
		}
	}
	return next
}

// previousEdge returns the latest time before t that is directly before a span
// that a reservation affects, or before an edge of quiet hours. Without one it
// returns the smallest time.
func (ts terms) previousEdge(tl timeline, t int64) int64 {
	previous := int64(math.MinInt64)
	if edge := ts.quiet.previousEdge(t); edge > previous {
		previous = edge - 1
	}
	if t >= ts.disturbs {
		previous = max(previous, ts.disturbs-1)
	}
	for _, r := range ts.all() {
		tl := r.counts(tl)
		i := sort.Search(len(tl), func(i int) bool { return r.affected(tl[i].at).from > t })
		if i > 0 {
			previous = max(previous, r.affected(tl[i-1].at).from-1)
		}
	}
	return previous
}
