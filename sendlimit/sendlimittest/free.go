package sendlimittest

import (
	"math"
	"sort"
)

// What a rule says of a time can only change where the time enters or leaves
// the span around a reservation. So the searches below hop from one such edge
// to the next and judge each by the rules' definition; the times between two
// edges are judged alike.

// nextFree returns the earliest allowed time in [from, last].
func (rs rules) nextFree(tl timeline, from, last int64) (int64, bool) {
	for t := from; t <= last; t = rs.nextEdge(tl, t, leaving) {
		if rs.allow(tl, t) {
			return t, true
		}
	}
	return 0, false
}

// previousFree returns the latest allowed time in [first, from].
func (rs rules) previousFree(tl timeline, from, first int64) (int64, bool) {
	for t := from; t >= first; t = rs.previousEdge(tl, t) {
		if rs.allow(tl, t) {
			return t, true
		}
	}
	return 0, false
}

// freeSpans returns the longest spans within s all of whose times are
// allowed, ascending.
func (rs rules) freeSpans(tl timeline, s span) []span {
	var free []span
	for t := s.from; t < s.until; {
		from, ok := rs.nextFree(tl, t, s.until-1)
		if !ok {
			break
		}
		t = rs.nextForbidden(tl, from, s.until)
		free = append(free, span{from, t})
	}
	return free
}

// nextForbidden returns the earliest time in [from, until) that breaks a
// rule, until where there is none.
func (rs rules) nextForbidden(tl timeline, from, until int64) int64 {
	for t := from; t < until; t = rs.nextEdge(tl, t, entering) {
		if !rs.allow(tl, t) {
			return t
		}
	}
	return until
}

// entering and leaving are the first time in a span and the first after it.
func entering(s span) int64 { return s.from }
func leaving(s span) int64  { return s.until }

// nextEdge returns the earliest edge after t, of all rules and reservations;
// a time past all others where there is none.
func (rs rules) nextEdge(tl timeline, t int64, edge func(span) int64) int64 {
	next := int64(math.MaxInt64)
	for _, r := range rs {
		i := sort.Search(len(tl), func(i int) bool { return edge(r.around(tl[i].at)) > t })
		if i < len(tl) {
			next = min(next, edge(r.around(tl[i].at)))
		}
	}
	return next
}

// previousEdge returns the latest time before t that is the last before the
// span around a reservation; a time before all others where there is none.
func (rs rules) previousEdge(tl timeline, t int64) int64 {
	previous := int64(math.MinInt64)
	for _, r := range rs {
		i := sort.Search(len(tl), func(i int) bool { return r.around(tl[i].at).from > t })
		if i > 0 {
			previous = max(previous, r.around(tl[i-1].at).from-1)
		}
	}
	return previous
}
