package sendlimittest

import (
	"maps"
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// newEntry returns the entry of a message with a new place.
func (g *regime) newEntry(at int64, id, category, account string) entry {
	return entry{at: at, id: id, category: category, account: account, uncounted: g.uncounted[category]}
}

// judge judges a time by the clock, then by the user's settings, then by quiet
// hours, then by the rules. A refusal by quiet hours or rules has all rules that
// the time would break, and the free times before and after it.
func (g *regime) judge(tl timeline, category string, asked, now int64) sendlimit.Decision {
	d := sendlimit.Decision{At: moment(asked), Now: moment(now)}
	t := asked
	switch {
	case asked < now-grace:
		d.Code = fault.CodeInPast
		return d
	case asked > now+g.reach:
		d.Code, d.Latest = fault.CodeTooFarAhead, moment(now+g.reach)
		return d
	case asked < now:
		t = now
		d.At, d.RequestedAt = moment(now), moment(asked)
	}
	if g.blocked {
		d.Code = fault.CodeBlocked
		return d
	}
	if g.optedOut(category) {
		d.Code = fault.CodeOptedOut
		return d
	}
	ts := g.at(t).termsOf(category)
	d.Violations = ts.violations(tl, t)
	switch {
	case t < ts.disturbs:
		d.Code, d.DoNotDisturbUntil = fault.CodeDoNotDisturb, moment(ts.disturbs)
	case ts.quiet.covers(t):
		d.Code, d.Quiet = fault.CodeQuietHours, ts.quiet.period(t)
	case d.Violations != nil:
		d.Code = fault.CodeSendLimit
	case broken(ts.share, tl, t):
		d.Code, d.PlacesPerDay = fault.CodeAccountPlaces, ts.share.Limit
	case broken(ts.places, tl, t):
		d.Code, d.PlacesPerDay, d.OfOthers = fault.CodeTooManyPlaces, ts.places.Limit, ts.share != nil
	default:
		d.Allowed = true
		return d
	}
	if free, ok := g.nextFree(category, tl, t+1, now+g.reach); ok {
		d.NextFree = moment(free)
	}
	if free, ok := g.previousFree(category, tl, t-1, now); ok {
		d.PreviousFree = moment(free)
	}
	return d
}

// judgeNew is judge for a message of an account that is not accepted yet. If its category is not
// accepted, quiet hours and rules do not matter.
func (g *regime) judgeNew(tl timeline, category, account string, asked, now int64) sendlimit.Decision {
	d := g.judge(tl, category, asked, now)
	g = g.at(max(asked, now))
	_, known := g.categories[category]
	of, reserved := g.reserved[category]
	refused := sendlimit.Decision{At: d.At, RequestedAt: d.RequestedAt, Now: d.Now}
	switch {
	case d.Code == fault.CodeInPast || d.Code == fault.CodeTooFarAhead,
		d.Code == fault.CodeBlocked, d.Code == fault.CodeOptedOut:
		return d
	case reserved && account != "" && !slices.Contains(of, account):
		refused.Code = fault.CodeCategoryReserved
	case g.refusesUnknown && !known && category != "":
		refused.Code, refused.Categories = fault.CodeUnknownCategory, slices.Sorted(maps.Keys(g.categories))
	default:
		return d
	}
	return refused
}
