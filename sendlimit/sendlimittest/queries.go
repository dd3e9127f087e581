package sendlimittest

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// NextFree returns the next free times. Each counts those before it as taken.
// There are fewer than requested if the reach ends, and nil for none.
func (m *Model) NextFree(r sendlimit.NextFreeRequest) []time.Time {
	now := cut(r.Now)
	tl := m.remember(r.User, now).remove(r.ID)
	g := m.regime(r.User).sharing(r.Share)

	if g.blocked || g.optedOut(r.Category) {
		return nil
	}
	var free []time.Time
	from := max(cutOr(r.From, now), now)
	for range r.Count {
		t, ok := g.nextFree(r.Category, tl, from, now+g.reach)
		if !ok {
			break
		}
		free = append(free, moment(t))
		tl, from = tl.add(entry{at: t, category: r.Category, taken: true}), t
	}
	return free
}

// List returns reservations, nil for none.
func (m *Model) List(r sendlimit.ListRequest) []keyspace.Reservation {
	return m.remember(r.User, cut(r.Now)).list(r)
}

// list returns the reservations of a request, nil for none.
func (tl timeline) list(r sendlimit.ListRequest) []keyspace.Reservation {
	if !r.From.IsZero() {
		tl = tl.since(cut(r.From))
	}
	if !r.To.IsZero() {
		tl = tl[:tl.first(cut(r.To))]
	}
	if r.After != (keyspace.Reservation{}) {
		after := entry{at: cut(r.After.At), id: r.After.ID}
		for len(tl) > 0 && compareEntries(tl[0], after) <= 0 {
			tl = tl[1:]
		}
	}
	limit := r.Limit
	if limit == 0 {
		limit = sendlimit.MaxList
	}
	return tl[:min(limit, len(tl))].reservations()
}

// Usage returns the usage of the rules at a time, and the quiet and the free
// stretches of a span. It does not depend on the clock.
func (m *Model) Usage(r sendlimit.UsageRequest) sendlimit.Usage {
	now := cut(r.Now)
	at := cutOr(r.At, now)
	tl := m.remember(r.User, now)
	g := m.regime(r.User)
	ts := g.at(at).termsOf(r.Category)

	u := sendlimit.Usage{At: moment(at), Blocked: g.blocked, OptedOut: g.optedOut(r.Category), Now: moment(now)}
	for _, rule := range ts.rules {
		u.Rules = append(u.Rules, rule.usage(tl, at))
	}
	if r.From.IsZero() && r.To.IsZero() {
		return u
	}
	asked := span{cut(r.From), cut(r.To)}
	free, quiet := g.freeAndQuiet(r.Category, tl, asked)
	u.Quiet = stretches(quiet)
	if !g.blocked && !u.OptedOut {
		u.Free = stretches(free)
	}
	return u
}

// stretches converts spans, nil for none.
func stretches(spans []span) []calendar.Stretch {
	var all []calendar.Stretch
	for _, s := range spans {
		all = append(all, calendar.Stretch{From: moment(s.from), Until: moment(s.until)})
	}
	return all
}
