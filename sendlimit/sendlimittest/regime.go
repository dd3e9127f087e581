package sendlimittest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// regime has the rules for the messages of one user: a policy and the user's
// settings.
type regime struct {
	reach   int64 // ms
	shift   bool  // what requests with ByPolicy do on a conflict
	blocked bool
	best    policy.BestHours
	theirs  *time.Location // the zone of the user's clocks
	ownZone string         // the user's; "" for none
	optOut  []string       // categories that the user does not want
	// wanted are the categories that are exempt without dated changes: "all" in optOut spares them.
	wanted map[string]bool
	// disturbs is before which time only exempt messages are sent; 0 for none.
	disturbs int64
	ownQuiet quiet // the user's own quiet hours
	// overall applies to all categories except those below.
	overall    terms
	categories map[string]terms
	exempt     map[string]bool // categories that are not judged
	uncounted  map[string]bool // categories that are not counted either
	// dated apply instead to the send times of their dates.
	dated []datedRegime
	// refusesUnknown is whether messages of other categories are refused.
	refusesUnknown bool
	accountShare   int                 // percent of each rule that one account may have; 0 for all
	reserved       map[string][]string // the accounts that may submit messages of a category
}

// switchedOff returns why the user gets no message of a category; "" if the user gets it.
func (g *regime) switchedOff(category string) string {
	switch {
	case g.blocked:
		return reasonBlocked
	case g.optedOut(category):
		return reasonOptedOut
	}
	return ""
}

// optedOut reports whether the user does not want messages of a category.
func (g *regime) optedOut(category string) bool {
	return category != "" && slices.Contains(g.optOut, category) || g.optedOutOfAll(category)
}

// optedOutOfAll reports whether the user does not want messages of a category as one of all.
func (g *regime) optedOutOfAll(category string) bool {
	return slices.Contains(g.optOut, "all") && !g.wanted[category]
}

// newRegime returns the regime of a user. reach is the store's limit for send
// times, places the bound of places of a day, 0 for none.
func newRegime(p policy.Policy, own policy.UserSettings, reach time.Duration, places int) (*regime, error) {
	named := make(map[string]bool)
	for name := range p.Categories {
		named[name] = true
	}
	for _, c := range p.Changes {
		for name := range c.Categories {
			named[name] = true
		}
	}
	if p.UnknownCategories == "" && len(named) > 0 {
		p.UnknownCategories = policy.RefuseUnknown
	}
	g, err := newUndated(p, own, reach, named)
	if err != nil {
		return nil, err
	}
	g.reserved, g.wanted = make(map[string][]string), g.exempt
	for name, c := range p.Categories {
		if c.Accounts != nil {
			g.reserved[name] = c.Accounts
		}
	}
	for _, c := range p.Changes {
		changed := p
		changed.Rules, changed.QuietHours, changed.Only = orElse(c.Rules, p.Rules), valueOr(c.QuietHours, p.QuietHours), valueOr(c.Only, p.Only)
		changed.Blackouts, changed.Changes = valueOr(c.Blackouts, p.Blackouts), nil
		if c.Categories != nil {
			changed.Categories = c.Categories
		}
		then, err := newUndated(changed, own, reach, named)
		if err != nil {
			return nil, err
		}
		then.boundPlaces(places)
		then.reserved, then.wanted = g.reserved, g.wanted
		g.dated = append(g.dated, datedRegime{change: c, regime: then})
	}
	g.boundPlaces(places)
	return g, nil
}

// boundPlaces bounds the places of a day of UTC; 0 for no bound.
func (g *regime) boundPlaces(places int) {
	if places == 0 {
		return
	}
	g.bound(func(ts *terms, day rule) {
		day.Limit = places
		ts.places = &day
	})
}

// sharing returns the regime for the messages of an account that has a share of the places.
func (g *regime) sharing(s sendlimit.Share) *regime {
	if s.Places == 0 {
		return g
	}
	own := *g
	own.categories, own.dated = maps.Clone(g.categories), nil
	own.bound(func(ts *terms, day rule) {
		day.Limit, day.account = s.Places, s.Account
		ts.share = &day
		if g.accountShare == 0 {
			return
		}
		all := slices.Clone(ts.rules)
		for _, r := range ts.rules {
			r.account, r.whole, r.Limit = s.Account, r.Limit, int(math.Ceil(float64(r.Limit*g.accountShare)/100))
			all = append(all, r)
		}
		ts.rules = all
	})
	for _, d := range g.dated {
		own.dated = append(own.dated, datedRegime{d.change, d.regime.sharing(s)})
	}
	return &own
}

// bound sets a bound of the places of a day of UTC for each category.
func (g *regime) bound(set func(ts *terms, day rule)) {
	day := rule{Rule: policy.Rule{Period: calendar.Day}, zone: time.UTC}
	set(&g.overall, day)
	for name, ts := range g.categories {
		day.beside = g.uncounted[name]
		set(&ts, day)
		g.categories[name] = ts
	}
}

// newUndated returns the regime of a user without the policy's dated changes. A category that
// is named anywhere in the policy is named in each part.
func newUndated(p policy.Policy, own policy.UserSettings, reach time.Duration, named map[string]bool) (*regime, error) {
	zone, err := location(p.TimeZone)
	if err != nil {
		return nil, err
	}
	theirs := zone
	if own.TimeZone != "" {
		if theirs, err = location(own.TimeZone); err != nil {
			return nil, err
		}
	}
	counting := zone
	if p.UserTimeZone {
		counting = theirs
	}
	if p.Reach > 0 {
		reach = min(reach, p.Reach)
	}
	g := &regime{
		reach: reach.Milliseconds(), shift: p.OnConflict == policy.Shift, blocked: own.Blocked, ownZone: own.TimeZone, optOut: own.OptOut, best: own.BestHours, theirs: theirs, disturbs: cutOr(own.DoNotDisturbUntil, 0),
		refusesUnknown: p.UnknownCategories == policy.RefuseUnknown, accountShare: p.AccountShare,
		categories: make(map[string]terms), exempt: make(map[string]bool), uncounted: make(map[string]bool),
	}
	if g.overall.quiet, err = quietOf(p, policy.CategoryRules{}, own, theirs); err != nil {
		return nil, err
	}
	if g.ownQuiet, err = parseQuiet(theirs, own.QuietHours.Lines(), nil, nil); err != nil {
		return nil, err
	}
	g.overall.spread = p.ShiftSpread.Milliseconds()
	g.overall.disturbs = g.disturbs
	for _, r := range replaced(p.Rules, own.Limits) {
		g.overall.rules = append(g.overall.rules, rule{Rule: r, zone: counting})
	}
	categories := maps.Clone(p.Categories)
	if len(p.Changes) > 0 || len(named) > len(categories) {
		all := make(map[string]policy.CategoryRules)
		for name := range named {
			all[name] = categories[name]
		}
		categories = all
	}
	for name := range own.Categories {
		if _, known := categories[name]; !known && !g.refusesUnknown {
			if categories == nil {
				categories = make(map[string]policy.CategoryRules)
			}
			categories[name] = policy.CategoryRules{}
		}
	}
	for name, c := range categories {
		ts := terms{rules: append([]rule(nil), g.overall.rules...), disturbs: g.disturbs}
		if ts.quiet, err = quietOf(p, c, own, theirs); err != nil {
			return nil, err
		}
		ts.spread = valueOr(c.ShiftSpread, p.ShiftSpread).Milliseconds()
		for _, r := range replaced(c.Rules, own.Categories[name]) {
			ts.rules = append(ts.rules, rule{Rule: r, zone: counting, category: name})
		}
		if g.exempt[name], g.uncounted[name] = c.Exempt, c.Uncounted; c.Exempt {
			ts = terms{}
		}
		g.categories[name] = ts
	}
	return g, nil
}

// quietOf returns the quiet times of a category. Its own settings replace those of the policy; the
// user's quiet hours are added.
func quietOf(p policy.Policy, c policy.CategoryRules, own policy.UserSettings, zone *time.Location) (quiet, error) {
	hours, allowed, dates := p.QuietHours, p.Only, p.Blackouts
	if c.QuietHours != nil {
		hours = *c.QuietHours
	}
	if c.Only != nil {
		allowed = *c.Only
	}
	if c.Blackouts != nil {
		dates = *c.Blackouts
	}
	var days []string
	for _, line := range dates.Lines() {
		if line[0] >= '0' && line[0] <= '9' {
			days = append(days, line)
		} else {
			days = append(days, p.Calendars[line].Lines()...)
		}
	}
	return parseQuiet(zone, append(hours.Lines(), own.QuietHours.Lines()...), allowed.Lines(), days)
}

// replaced returns rules. Rules with the same window as one of the user's own are
// replaced by it. Own ones that replace none come last.
func replaced(rules, own []policy.Rule) []policy.Rule {
	var all []policy.Rule
	for _, r := range rules {
		of := slices.IndexFunc(own, sameWindow(r))
		if of >= 0 {
			r = own[of]
		}
		if of < 0 || !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	for _, r := range own {
		if !slices.ContainsFunc(rules, sameWindow(r)) {
			all = append(all, r)
		}
	}
	return all
}

func sameWindow(r policy.Rule) func(policy.Rule) bool {
	return func(other policy.Rule) bool { return other.Window == r.Window && other.Period == r.Period }
}

// termsOf returns the terms of a category.
func (g *regime) termsOf(category string) terms {
	if ts, special := g.categories[category]; special {
		return ts
	}
	return g.overall
}

// class returns the class of a category. Late messages keep their order within a
// class. The class is the category if the policy has rules for it, otherwise "".
func (g *regime) class(category string) string {
	if _, special := g.categories[category]; special {
		return category
	}
	return ""
}

func location(name string) (*time.Location, error) {
	zone, err := calendar.ParseTimeZone(name)
	if err != nil {
		return nil, fmt.Errorf("time zone of a model: %w", err)
	}
	return zone, nil
}
