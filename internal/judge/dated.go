package judge

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// datedRules are the rules for the send times in [from, until), Unix ms.
type datedRules struct {
	from, until int64
	rules       *Ruleset
}

// addDated adds the rules of a dated change. All rules of a policy remember places equally long,
// since other parts may have to count them.
func (s *Ruleset) addDated(c policy.DatedChange, rules *Ruleset) {
	d := datedRules{from: math.MinInt64, until: math.MaxInt64, rules: rules}
	if !c.From.IsZero() {
		d.from = c.From.UnixMilli()
	}
	if !c.Until.IsZero() {
		d.until = c.Until.UnixMilli()
	}
	s.dated = append(s.dated, d)
	slices.SortFunc(s.dated, func(a, b datedRules) int { return cmp.Compare(a.from, b.from) })
	s.Keep = max(s.Keep, rules.Keep)
	for _, d := range s.dated {
		d.rules.Keep = s.Keep
	}
}

// during returns the rules for a send time, Unix ms, and the times to which they apply, as
// lua/judge/arguments.lua reads them; "" for all times.
func (s *Ruleset) during(at int64) (rules *Ruleset, bounds string) {
	if s.dated == nil {
		return s, ""
	}
	rules = s
	from, until := int64(math.MinInt64), int64(math.MaxInt64)
	for _, d := range s.dated {
		switch {
		case at >= d.until:
			from = d.until
		case at < d.from:
			until = min(until, d.from)
		default:
			rules, from, until = d.rules, d.from, d.until
			return rules, spelledBounds(from, until)
		}
	}
	return rules, spelledBounds(from, until)
}

func spelledBounds(from, until int64) string {
	first, last := "-inf", "inf"
	if from != math.MinInt64 {
		first = strconv.FormatInt(from, 10)
	}
	if until != math.MaxInt64 {
		last = strconv.FormatInt(until, 10)
	}
	return "|" + first + " " + last
}

// At returns the rules for the user's messages at a send time; zero means now.
func (u UserRules) At(at time.Time) UserRules {
	if u.Rules.dated == nil {
		return u
	}
	ms := u.when
	if ms == 0 {
		ms = calendar.OrLocalClock(at).UnixMilli()
	}
	u.whole = u.Rules
	u.Rules, u.bounds = u.Rules.during(ms)
	return u
}

// Judges reports whether the rules of At are those of another send time of a user. A dated change
// may lie between two stretches with the same rules, which then do not judge each other's times.
func (u UserRules) Judges(user string, at time.Time) bool {
	then := u.Book.Of(user).At(at)
	return then.Rules == u.Rules && then.bounds == u.bounds
}

// Parts returns the stretches of time with different rules, also after At.
func (u UserRules) Parts() []Part {
	if u.whole != nil {
		return u.whole.Parts()
	}
	return u.Rules.Parts()
}

// Part is a stretch of time with the rules for it.
type Part struct {
	From, Until time.Time // zero means no begin, or no end
	Rules       *Ruleset
}

// Parts returns the stretches of time with different rules, ascending; one for a policy without
// dated changes.
func (s *Ruleset) Parts() []Part {
	parts, from := []Part(nil), int64(math.MinInt64)
	add := func(until int64, rules *Ruleset) {
		if from < until {
			parts = append(parts, Part{From: boundOf(from), Until: boundOf(until), Rules: rules})
		}
		from = until
	}
	for _, d := range s.dated {
		add(d.from, s)
		add(d.until, d.rules)
	}
	add(math.MaxInt64, s)
	return parts
}

// Inside returns a time in the stretch; zero for the only stretch of a policy.
func (p Part) Inside() time.Time {
	if p.From.IsZero() && !p.Until.IsZero() {
		return p.Until.Add(-time.Millisecond)
	}
	return p.From
}

func boundOf(ms int64) time.Time {
	if ms == math.MinInt64 || ms == math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
