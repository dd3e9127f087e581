package sendlimittest

import (
	"cmp"
	"time"

	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// checkWindow is check of a request for a time of a window.
func (m *Model) checkWindow(r sendlimit.Request, now, key int64) sendlimit.Decision {
	from, last := cut(r.Window.From), cut(r.Window.Until)-1
	tl := m.remember(r.User, now)
	g, category := m.regime(r.User).sharing(r.Share), categoryOf(r)
	d := sendlimit.Decision{At: moment(from), Now: moment(now)}
	if held, ok := tl.find(r.ID); ok {
		if d.Code = fault.CodeIDReused; from <= held.at && held.at <= last {
			d = sendlimit.Decision{Allowed: true, Replayed: true, At: moment(held.at), Now: moment(now)}
		}
		return d
	}
	if last < now {
		d.Code, d.At = fault.CodeInPast, moment(last)
		return d
	}
	if from > now+g.reach {
		d.Code, d.Latest = fault.CodeTooFarAhead, moment(now+g.reach)
		return d
	}
	wanted, first := g.wantedIn(r.Window, from, last, key), max(from, now)
	if last > now+g.reach && (wanted > now+g.reach) {
		last = now + g.reach
		wanted = g.wantedIn(r.Window, from, last, key)
	}
	last = min(last, now+g.reach)
	drawn := r.Window.Prefer == policy.PreferSpread || r.Window.Prefer == policy.PreferBest

	// What no other time would change is judged at the times at which a search begins.
	for _, t := range []int64{max(wanted, first), first, last} {
		d = g.judgeNew(tl, category, r.Share.Account, t, now)
		if !d.Allowed && !d.Code.Shiftable() {
			d.At = moment(from)
			return d
		}
		var free []int64
		if later, ok := g.nextFree(category, tl, max(wanted, first), last); ok {
			free = append(free, later)
		}
		if earlier, ok := g.previousFree(category, tl, min(wanted, last), first); ok {
			free = append(free, earlier)
		}
		if drawn && len(free) != 0 && free[0] < wanted {
			free[0], _ = g.nextFree(category, tl, first, last)
		}
		if len(free) == 0 {
			continue
		}
		at := free[0]
		if len(free) == 2 && !drawn && wanted-free[1] <= free[0]-wanted {
			at = free[1]
		}
		return sendlimit.Decision{Allowed: true, At: moment(at), Now: moment(now)}
	}
	end := d
	d = g.judgeNew(tl, category, r.Share.Account, first, now)
	d.NextFree, d.AtEnd = end.NextFree, &end
	return d
}

// wantedIn returns the time of a window to which the free time is to be near, or from which on it is
// searched.
func (g *regime) wantedIn(w *sendlimit.Window, from, last, key int64) int64 {
	switch w.Prefer {
	case policy.PreferLatest:
		return last
	case policy.PreferNearest:
		return min(max(cut(w.Near), from), last)
	case policy.PreferSpread:
		return from + key%(last+1-from)
	case policy.PreferBest:
		return BestTime(g.best, g.theirs, from, last+1, key)
	case policy.PreferEarliest:
	}
	return from
}

// drawWindow draws a window, whose ends are where times are drawn.
func (h *history) drawWindow(t *rapid.T) *sendlimit.Window {
	w := &sendlimit.Window{
		From: cmp.Or(h.drawTime(t), h.now), Until: cmp.Or(h.drawTime(t), h.now),
		Prefer: rapid.SampledFrom([]policy.Prefer{
			"", policy.PreferEarliest, policy.PreferLatest, policy.PreferNearest, policy.PreferSpread, policy.PreferBest,
		}).Draw(t, "prefer"),
	}
	if w.Until.Before(w.From) {
		w.From, w.Until = w.Until, w.From
	}
	if w.Until.UnixMilli() == w.From.UnixMilli() {
		w.Until = w.From.Add(time.Millisecond)
	}
	if w.Prefer == policy.PreferNearest {
		w.Near = cmp.Or(h.drawTime(t), h.now)
	}
	return w
}
