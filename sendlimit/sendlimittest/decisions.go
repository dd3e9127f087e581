package sendlimittest

import (
	"math"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// grace is sendlimit.Grace in milliseconds.
const grace = int64(sendlimit.Grace / time.Millisecond)

// Reserve takes the place asked for, or says why not.
func (m *Model) Reserve(r sendlimit.Request) sendlimit.Decision {
	d := m.Check(r)
	if d.Allowed && !d.Replayed {
		m.users[r.User] = m.users[r.User].with(entry{cut(d.At), r.ID})
	}
	return d
}

// Check gives the answer that Reserve would, and takes nothing.
func (m *Model) Check(r sendlimit.Request) sendlimit.Decision {
	now := cut(r.Now)
	asked := cutOr(r.At, now)
	tl := m.remember(r.User, now)

	if held, ok := tl.find(r.ID); ok {
		return replay(r, held.at, asked, now)
	}
	d := m.place(tl, asked, now)
	if d.Code != sendlimit.CodeSendLimit || !r.Shift {
		return d
	}
	last := min(cutOr(r.ShiftUntil, math.MaxInt64), now+m.reach)
	free, ok := m.rules.nextFree(tl, cut(d.At), last)
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
	now := cut(r.Now)
	asked := cutOr(r.At, now)
	tl := m.remember(r.User, now)

	held, ok := tl.find(r.ID)
	if !ok {
		return refused(sendlimit.CodeNotFound, now)
	}
	if asked == held.at {
		return sendlimit.Decision{Allowed: true, At: moment(asked), MovedFrom: moment(held.at), Now: moment(now)}
	}
	others := tl.without(r.ID)
	d := m.place(others, asked, now)
	if d.Code == sendlimit.CodeSendLimit && cut(d.At) == held.at {
		// Now, which the grace stands for, is the place it has.
		d = sendlimit.Decision{Allowed: true, At: d.At, RequestedAt: d.RequestedAt, Now: d.Now}
	}
	if d.Allowed {
		d.MovedFrom = moment(held.at)
		m.users[r.User] = others.with(entry{cut(d.At), r.ID})
	}
	return d
}

// Release gives a reservation back.
func (m *Model) Release(r sendlimit.ReleaseRequest) sendlimit.Decision {
	now := cut(r.Now)
	tl := m.remember(r.User, now)

	held, ok := tl.find(r.ID)
	if !ok {
		return refused(sendlimit.CodeNotFound, now)
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
		d := refused(sendlimit.CodeIDReused, now)
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

// place judges a time by the clock, then by the rules. A refusal by the rules
// has the violations and the free times on both sides.
func (m *Model) place(tl timeline, asked, now int64) sendlimit.Decision {
	d := sendlimit.Decision{At: moment(asked), Now: moment(now)}
	t := asked
	switch {
	case asked < now-grace:
		d.Code = sendlimit.CodeInPast
		return d
	case asked > now+m.reach:
		d.Code = sendlimit.CodeTooFarAhead
		return d
	case asked < now:
		t = now
		d.At, d.RequestedAt = moment(now), moment(asked)
	}
	d.Violations = m.rules.violations(tl, t)
	if d.Violations == nil {
		d.Allowed = true
		return d
	}
	d.Code = sendlimit.CodeSendLimit
	if free, ok := m.rules.nextFree(tl, t+1, now+m.reach); ok {
		d.NextFree = moment(free)
	}
	if free, ok := m.rules.previousFree(tl, t-1, now); ok {
		d.PreviousFree = moment(free)
	}
	return d
}

func refused(code sendlimit.Code, now int64) sendlimit.Decision {
	return sendlimit.Decision{Code: code, Now: moment(now)}
}
