package sendlimittest

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// NextFree returns the next free times, each counting those before it as
// taken; fewer than asked for where the reach ends, nil for none.
func (m *Model) NextFree(r sendlimit.NextFreeRequest) []time.Time {
	now := cut(r.Now)
	tl := m.remember(r.User, now)

	var free []time.Time
	from := max(cutOr(r.From, now), now)
	for range r.Count {
		t, ok := m.rules.nextFree(tl, from, now+m.reach)
		if !ok {
			break
		}
		free = append(free, moment(t))
		tl, from = tl.with(entry{at: t}), t
	}
	return free
}

// List returns the reservations in a span of time, nil for none.
func (m *Model) List(r sendlimit.ListRequest) []sendlimit.Reservation {
	tl := m.remember(r.User, cut(r.Now))
	if !r.From.IsZero() {
		tl = tl.since(cut(r.From))
	}
	if !r.To.IsZero() {
		tl = tl[:tl.first(cut(r.To))]
	}
	if r.After != (sendlimit.Reservation{}) {
		after := entry{cut(r.After.At), r.After.ID}
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

// Usage returns how full the rules are around a time, and which stretches of
// a span are free whatever the clock says.
func (m *Model) Usage(r sendlimit.UsageRequest) sendlimit.Usage {
	now := cut(r.Now)
	at := cutOr(r.At, now)
	tl := m.remember(r.User, now)

	u := sendlimit.Usage{At: moment(at), Now: moment(now)}
	for _, rule := range m.rules {
		u.Rules = append(u.Rules, rule.usage(tl, at))
	}
	if r.From.IsZero() && r.To.IsZero() {
		return u
	}
	for _, s := range m.rules.freeSpans(tl, span{cut(r.From), cut(r.To)}) {
		u.Free = append(u.Free, sendlimit.Stretch{From: moment(s.from), Until: moment(s.until)})
	}
	return u
}
