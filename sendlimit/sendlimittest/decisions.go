package sendlimittest

import (
	"math"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// grace is policy.Grace in milliseconds.
const grace = int64(policy.Grace / time.Millisecond)

// Reserve takes a place or refuses it.
func (m *Model) Reserve(r sendlimit.Request) sendlimit.Decision {
	d := m.Check(r)
	if d.Allowed && !d.Replayed {
		m.users[r.User] = m.users[r.User].add(m.regime(r.User).at(cut(d.At)).newEntry(cut(d.At), r.ID, categoryOf(r), accountOf(r.Hold)))
	}
	return d
}

// accountOf returns the account that is charged under a hold; "" for none.
func accountOf(h *sendlimit.Hold) string {
	if h == nil {
		return ""
	}
	return h.Account
}

// categoryOf returns the category by which a request is judged.
func categoryOf(r sendlimit.Request) string {
	if r.Category == "" && r.Record != nil {
		return r.Record.Category
	}
	return r.Category
}

// Check returns the decision of Reserve and takes no place.
func (m *Model) Check(r sendlimit.Request) sendlimit.Decision { return m.check(r, spreadKey(r)) }

// check is Check of a message with a key for its spread.
func (m *Model) check(r sendlimit.Request, key int64) sendlimit.Decision {
	now := cut(r.Now)
	if r.Window != nil {
		return m.checkWindow(r, now, key)
	}
	asked := cutOr(r.At, now)
	tl := m.remember(r.User, now)

	g, category := m.regime(r.User).sharing(r.Share), categoryOf(r)
	r.Shift = r.Shift || r.ByPolicy && g.shift
	if held, ok := tl.find(r.ID); ok {
		return replay(r, held.at, asked, now)
	}
	d := g.judgeNew(tl, category, r.Share.Account, asked, now)
	conflict := d.Code.Shiftable()
	if !conflict || !r.Shift {
		if conflict && r.WithoutFreeTimes {
			d.NextFree, d.PreviousFree, d.WithoutFreeTimes = time.Time{}, time.Time{}, true
		}
		return d
	}
	last := min(cutOr(r.ShiftUntil, math.MaxInt64), now+g.reach)
	free, ok := g.nextSpread(category, tl, key, cut(d.At), last)
	if !ok {
		return d
	}
	return sendlimit.Decision{
		Allowed: true, Shifted: true,
		At: moment(free), RequestedAt: moment(asked), Now: moment(now),
	}
}

// Move moves a reservation to another place. Its own place does not conflict
// with the new one.
func (m *Model) Move(r sendlimit.MoveRequest) sendlimit.Decision {
	tl := m.remember(r.User, cut(r.Now))
	held, ok := tl.find(r.ID)
	if !ok {
		return refused(fault.CodeNotFound, cut(r.Now))
	}
	return m.move(tl.remove(r.ID), held, r)
}

// move moves a reservation that is not among others.
func (m *Model) move(others timeline, held entry, r sendlimit.MoveRequest) sendlimit.Decision {
	now := cut(r.Now)
	asked := cutOr(r.At, now)
	if asked == held.at {
		return sendlimit.Decision{Allowed: true, At: moment(asked), MovedFrom: moment(held.at), Now: moment(now)}
	}
	if now-grace <= asked && asked < now && now == held.at {
		// Within the grace the time is now, and now is its place already.
		return sendlimit.Decision{
			Allowed: true, At: moment(now), RequestedAt: moment(asked), MovedFrom: moment(now), Now: moment(now),
		}
	}
	g := m.regime(r.User).sharing(r.Share)
	d := g.judge(others, held.category, asked, now)
	if d.Allowed {
		d.MovedFrom = moment(held.at)
		m.users[r.User] = others.add(g.at(cut(d.At)).newEntry(cut(d.At), r.ID, held.category, held.account))
	}
	return d
}

// Release gives a reservation back.
func (m *Model) Release(r sendlimit.ReleaseRequest) sendlimit.Decision {
	now := cut(r.Now)
	tl := m.remember(r.User, now)

	held, ok := tl.find(r.ID)
	if !ok {
		return refused(fault.CodeNotFound, now)
	}
	m.users[r.User] = tl.remove(r.ID)
	return sendlimit.Decision{Allowed: true, At: moment(held.at), Now: moment(now)}
}

// replay answers a request whose id has a reservation at the time held. Either
// the request is a repetition, or the id belongs to another request.
//
// The request is a repetition if it asks for the time held, or for a time that
// led to it: by a shift, or by the grace (the time asked for was slightly past,
// so it got the time of the first request).
func replay(r sendlimit.Request, held, asked, now int64) sendlimit.Decision {
	shifted := r.Shift && asked <= held && held <= cutOr(r.ShiftUntil, math.MaxInt64)
	graced := asked < now && asked <= held && held <= asked+grace
	if held != asked && !shifted && !graced {
		d := refused(fault.CodeIDReused, now)
		d.At = moment(asked)
		return d
	}
	d := sendlimit.Decision{Allowed: true, Replayed: true, At: moment(held), Now: moment(now)}
	if held != asked {
		d.RequestedAt = moment(asked)
		d.Shifted = r.Shift && !graced
	}
	return d
}

func refused(code fault.Code, now int64) sendlimit.Decision {
	return sendlimit.Decision{Code: code, Now: moment(now)}
}
