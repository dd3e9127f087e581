package sendlimit

import (
	"strconv"
	"time"
)

// scope is what judges the messages of one category: the overall rules, and the
// category's own.
type scope struct {
	set      *ruleset
	own      []Rule // of the category
	category string // that has rules of its own, or is exempt; "" for any other
	words    string // all of the rules, as lua/fragments/policy.lua reads them
	named    string // whose they are, as it reads that

	exempt    bool // neither rules nor quiet hours judge
	uncounted bool // nor does it count for the others
}

// scope returns what judges a category, "" for none.
func (s *ruleset) scope(category string) *scope {
	rules, ok := s.policy.Categories[category]
	switch {
	case !ok:
		return s.others
	case rules.Exempt:
		return &scope{set: s, category: category, named: rules.exemption(), exempt: true, uncounted: rules.Uncounted}
	}
	return &scope{
		set: s, own: rules.Rules, category: category,
		words: s.rules + " " + ruleWords(rules.Rules),
		named: strconv.Itoa(len(s.policy.Rules)) + " " + category,
	}
}

// exemption is how lua/fragments/policy.lua is told that a category is exempt; ""
// if it is not.
func (c CategoryRules) exemption() string {
	switch {
	case c.Exempt && c.Uncounted:
		return "!!"
	case c.Exempt:
		return "!"
	}
	return ""
}

// count is how many rules judge.
func (c *scope) count() int {
	if c.exempt {
		return 0
	}
	return len(c.set.policy.Rules) + len(c.own)
}

// rule returns the rule that the scripts give a number, from 1 to count, and the
// category whose messages it counts, "" for all.
func (c *scope) rule(number int) (Rule, string) {
	overall := c.set.policy.Rules
	if number <= len(overall) {
		return overall[number-1], ""
	}
	return c.own[number-len(overall)-1], c.category
}

// places is the key of the set that the user's places of the category are in.
func (c *scope) places(keys Keys, user string) string {
	if c.uncounted {
		return keys.Uncounted(user)
	}
	return keys.Timeline(user)
}

// span bounds what the rules look at around a send time, as ruleset.span has it. An
// exempt message has none, and what it may alert of counts as the overall rules do.
func (c *scope) span(at int64) (first, last int64) {
	if c.exempt && (c.uncounted || c.set.alerts == "") {
		return at, at
	}
	return c.set.span(at, c.own)
}

// quietHours is what ruleset.quietHours has, "" where quiet hours don't judge.
func (c *scope) quietHours(at time.Time) string {
	if c.exempt {
		return ""
	}
	return c.set.quietHours(at)
}

// quietWithin are the stretches of quiet hours in [from, until), Unix ms.
func (c *scope) quietWithin(from, until int64) []Stretch {
	if c.exempt || c.set.week == "" {
		return nil
	}
	return c.set.policy.QuietHours.within(from, until, c.set.quietTable(from))
}

// quietAt reports whether an instant, Unix ms, is in quiet hours that hold for the
// category.
func (c *scope) quietAt(at int64) bool { return !c.exempt && c.set.isQuiet(at) }
