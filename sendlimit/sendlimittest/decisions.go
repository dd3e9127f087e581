package sendlimittest

import (
	"math"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// grace is sendlimit.Grace in milliseconds.
const grace = int64(policy.Grace / time.Millisecond)

// Reserve takes the place asked for, or says why not.
func (m *Model) Reserve(r sendlimit.Request) sendlimit.Decision {
	d := m.Check(r)
	if d.Allowed && !d.Replayed {
		m.users[r.User] = m.users[r.User].with(m.regime(r.User).place(cut(d.At), r.ID, categoryOf(r)))
	}
	return d
}

// categoryOf is what a request is judged as.
func categoryOf(r sendlimit.Request) string {
	if r.Category == "" && r.Record != nil {
		return r.Record.Category
	}
	return r.Category
}

// Check gives the answer that Reserve would, and takes nothing.
func (m *Model) Check(r sendlimit.Request) sendlimit.Decision {
	now := cut(r.Now)
	asked := cutOr(r.At, now)
	tl := m.remember(r.User, now)

	g, category := m.regime(r.User), categoryOf(r)
	r.Shift = r.Shift || r.ByPolicy && g.shift
	if held, ok := tl.find(r.ID); ok {
		return replay(r, held.at, asked, now)
	}
	d := g.judge(tl.counted(), category, asked, now)
	if d.Code != fault.CodeSendLimit && d.Code != fault.CodeQuietHours || !r.Shift {
		return d
	}
	last := min(cutOr(r.ShiftUntil, math.MaxInt64), now+g.reach)
	free, ok := g.of(category).nextFree(tl.counted(), cut(d.At), last)
	if !ok {
		return d
	}
	return sendlimit.Decision{
		Allowed: true, Shifted: true,
		At: moment(free), RequestedAt: moment(asked), Now: moment(now),
	}
}

// Move takes another place for a reservation and gives up the one it has,
// which is not in its own way.
func (m *Model) Move(r sendlimit.MoveRequest) sendlimit.Decision {
	tl := m.remember(r.User, cut(r.Now))
	held, ok := tl.find(r.ID)
	if !ok {
		return refused(fault.CodeNotFound, cut(r.Now))
	}
	return m.move(tl.without(r.ID), held, r)
}

// move is Move of a place that is held, beside others.
func (m *Model) move(others timeline, held entry, r sendlimit.MoveRequest) sendlimit.Decision {
	now := cut(r.Now)
	asked := cutOr(r.At, now)
	if asked == held.at {
		return sendlimit.Decision{Allowed: true, At: moment(asked), MovedFrom: moment(held.at), Now: moment(now)}
	}
	if now-grace <= asked && asked < now && now == held.at {
		// Now, which the grace stands for, is the place it has.
		return sendlimit.Decision{
			Allowed: true, At: moment(now), RequestedAt: moment(asked), MovedFrom: moment(now), Now: moment(now),
		}
	}
	g := m.regime(r.User)
	d := g.judge(others.counted(), held.category, asked, now)
	if d.Allowed {
		d.MovedFrom = moment(held.at)
		m.users[r.User] = others.with(g.place(cut(d.At), r.ID, held.category))
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
	m.users[r.User] = tl.without(r.ID)
	return sendlimit.Decision{Allowed: true, At: moment(held.at), Now: moment(now)}
}

// replay answers a request whose id is held, at the time held: either it is
// the same request again, or the id stands for another.
//
// It is the same if it asks for the very time, or if the time is one that it
// could have been given: later because it shifts, or because what it asks for
// was now when it came first and has passed into the grace since.
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
