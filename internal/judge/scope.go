package judge

import (
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Scope has the rules for the messages of one category: the overall rules, and the category's own.
type Scope struct {
	Set      *Ruleset
	Own      []policy.Rule // the category's
	category string        // if it has own rules or is exempt; "" otherwise
	words    string        // all rules, as lua/judge/rules.lua reads them
	whose    string        // the scope of the rules, as it reads them too
	word     *spelled[wording]

	exempt    bool // no rules and no quiet hours apply
	Uncounted bool // its places do not count for others
	Refused   bool // the policy accepts no new messages of the category
	OptedOut  bool // the user does not want messages of the category
	// Throttle limits the category over all users; zero for none.
	Throttle policy.NamedThrottle
	quiet    int // index of its quiet times in Ruleset.quiets
	// of has the accounts that may submit messages of the category.
	of policy.CategoryRules
}

// Admits reports whether an account may submit messages of the scope; "" for none.
func (c *Scope) Admits(account string) bool { return c.of.Admits(account) }

// optedOut returns the scope of a category that the user does not want.
func (c *Scope) optedOut() *Scope {
	out := *c
	out.OptedOut = true
	return &out
}

// Scope returns the rules for a category, "" for none.
func (s *Ruleset) Scope(category string) *Scope {
	if c := s.scopes[category]; c != nil {
		return c
	}
	if s.Policy.RefusesCategory(category) {
		return s.refused
	}
	return s.others
}

// newScope returns the rules for a category of the policy, in addition to the overall rules in
// words.
func (s *Ruleset) newScope(category, words string) *Scope {
	rules := s.Policy.Categories[category]
	if rules.Exempt {
		return &Scope{Set: s, category: category, words: "", whose: rules.Exemption(), word: new(spelled[wording]), exempt: true, Uncounted: rules.Uncounted, of: rules}
	}
	if len(rules.Rules) > 0 {
		words += " " + policy.RuleWords(rules.Rules)
	}
	return &Scope{
		Set: s, Own: rules.Rules, category: category, words: words,
		whose: strconv.Itoa(len(s.Policy.Rules)) + " " + category, word: new(spelled[wording]), Throttle: s.Policy.ThrottleOf(category),
		of: rules,
	}
}

// Count returns the number of rules that apply.
func (c *Scope) Count() int {
	if c.exempt {
		return 0
	}
	return len(c.Set.Policy.Rules) + len(c.Own)
}

// Rule returns the rule with the number that scripts use, 1 to Count, and the category that it
// counts, "" for all.
func (c *Scope) Rule(number int) (policy.Rule, string) {
	overall := c.Set.Policy.Rules
	if number <= len(overall) {
		return overall[number-1], ""
	}
	return c.Own[number-len(overall)-1], c.category
}

// Places returns the key of the set with the user's places of the category.
func (c *Scope) Places(keys keyspace.Keys, user string) string {
	if c.Uncounted {
		return keys.Uncounted(user)
	}
	return keys.Timeline(user)
}

// Zone returns the offsets of the zone of the calendar rules, around a time.
func (c *Scope) Zone(at time.Time) *calendar.ZoneTable { return c.Set.zones.TableAt(c.Set.zone, at) }

// Span returns the first and the last millisecond around a send time that the rules and the bound of
// a day's places can count, Unix ms. An exempt message has no rules, but may raise alerts.
func (c *Scope) Span(at int64) (first, last int64) {
	if c.exempt && (c.Uncounted || !c.Set.alerting()) {
		return c.Set.span(at)
	}
	return c.Set.span(at, c.Set.Policy.Rules, c.Own)
}
