package sendlimittest

import (
	"math"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// datedRegime is the regime of the send times of a dated change.
type datedRegime struct {
	change policy.DatedChange
	regime *regime
}

func orElse[T any](list, other []T) []T {
	if list == nil {
		return other
	}
	return list
}

func valueOr[T any](value *T, other T) T {
	if value == nil {
		return other
	}
	return *value
}

// at returns the regime of a send time.
func (g *regime) at(t int64) *regime {
	for _, d := range g.dated {
		if d.change.Covers(moment(t)) {
			return d.regime
		}
	}
	return g
}

// stretch returns the longest stretch around a time with one regime.
func (g *regime) stretch(t int64) span {
	s := span{math.MinInt64, math.MaxInt64}
	for _, d := range g.dated {
		for _, edge := range []int64{cutOr(d.change.From, math.MinInt64), cutOr(d.change.Until, math.MaxInt64)} {
			if edge <= t {
				s.from = max(s.from, edge)
			} else {
				s.until = min(s.until, edge)
			}
		}
	}
	return s
}

// nextFree returns the earliest allowed time in [from, last] of a category.
func (g *regime) nextFree(category string, tl timeline, from, last int64) (int64, bool) {
	for from <= last {
		s := g.stretch(from)
		if t, ok := g.at(from).termsOf(category).nextFree(tl, from, min(last, s.until-1)); ok {
			return t, true
		}
		if s.until == math.MaxInt64 {
			break
		}
		from = s.until
	}
	return 0, false
}

// previousFree returns the latest allowed time in [first, from] of a category.
func (g *regime) previousFree(category string, tl timeline, from, first int64) (int64, bool) {
	for from >= first {
		s := g.stretch(from)
		if t, ok := g.at(from).termsOf(category).previousFree(tl, from, max(first, s.from)); ok {
			return t, true
		}
		if s.from == math.MinInt64 {
			break
		}
		from = s.from - 1
	}
	return 0, false
}

// freeAndQuiet returns the longest spans within s that are allowed, and those that are quiet.
func (g *regime) freeAndQuiet(category string, tl timeline, s span) (free, quiet []span) {
	for from := s.from; from < s.until; {
		part := span{from, min(s.until, g.stretch(from).until)}
		ts := g.at(from).termsOf(category)
		free, quiet = joined(free, ts.freeSpans(tl, part)), joined(quiet, ts.quiet.spans(part))
		from = part.until
	}
	return free, quiet
}

// joined returns spans one after the other. Two that touch become one.
func joined(first, second []span) []span {
	if last := len(first) - 1; last >= 0 && len(second) > 0 && first[last].until == second[0].from {
		first[last].until, second = second[0].until, second[1:]
	}
	return append(first, second...)
}
