package sendlimittest

import (
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
)

// anotherFirst reports whether the oldest message of the class that is not
// dropped is another one, and can be sent immediately.
func (m *mailbox) anotherFirst(plan []planned, claiming *message) bool {
	g := m.regime()
	i := slices.IndexFunc(plan, func(p planned) bool {
		return p.dropped == "" && g.class(p.category) == g.class(claiming.category)
	})
	return i >= 0 && plan[i].message != claiming && plan[i].to == cut(m.now)
}

// goesNow reports whether a plan sends a message immediately.
func (m *mailbox) goesNow(plan []planned, claiming *message) bool {
	return slices.ContainsFunc(plan, func(p planned) bool {
		return p.message == claiming && p.dropped == "" && p.to == cut(m.now)
	})
}

// sendingAhead returns until when messages of the class of a late one are being sent that are
// late themselves and were promised earlier, by their leases. The claimed one is not, as it is
// taken over.
func (m *mailbox) sendingAhead(late, claiming *message) (until time.Time, ahead bool) {
	g := m.regime()
	for _, known := range m.messages {
		if known != late && known != claiming && byPromise(known, late) < 0 && known.state == sending && !known.doubt && !known.reached() && !known.uncounted &&
			known.at.Add(m.options.Tolerance).Before(m.now) && g.class(known.category) == g.class(late.category) {
			ahead = true
			if known.leaseEnd.After(until) {
				until = known.leaseEnd
			}
		}
	}
	return until, ahead
}

// heldUp reports whether a late message waits for one that is being sent. It stops waiting once a
// younger one of its class has waited for too long.
func (m *mailbox) heldUp(late, claiming *message) bool {
	_, ahead := m.sendingAhead(late, claiming)
	return ahead && !m.goesPast(late, claiming)
}

// leavesOut reports whether a late message of the class of the claimed one is held up that was
// promised earlier: the claimed one gets no time before it.
func (m *mailbox) leavesOut(claiming *message) bool {
	g := m.regime()
	for _, known := range m.messages {
		if m.isJudged(known) && known != claiming && byPromise(known, claiming) < 0 && g.class(known.category) == g.class(claiming.category) &&
			m.isLate(known) && m.heldUp(known, claiming) {
			return true
		}
	}
	return false
}

// goesPast reports whether the claimed message waits no longer for one of its class that is
// being sent, and takes another one with it.
func (m *mailbox) goesPast(late, claiming *message) bool {
	g := m.regime()
	until, ahead := m.sendingAhead(claiming, claiming)
	return ahead && g.class(late.category) == g.class(claiming.category) && !m.isPatient(claiming, until)
}

// isPatient reports whether a message still waits for an older one. Its patience does not
// start before from.
func (m *mailbox) isPatient(claiming *message, from time.Time) bool {
	since := m.waitsSince(claiming)
	if since.After(from) {
		from = since
	}
	return m.now.Sub(from) < patience
}

func (m *mailbox) waitsSince(claiming *message) time.Time {
	if claiming.waits.IsZero() {
		return m.now
	}
	return claiming.waits
}

// waitsFrom reports whether a message still waits for an older one, and answers so: see
// isPatient.
func (m *mailbox) waitsFrom(claiming *message, from time.Time, c *messages.Claim) bool {
	if !m.isPatient(claiming, from) || claiming.expiry(m.options.ExpireAfter).Sub(m.now) <= inReserve {
		return false
	}
	claiming.waits = m.waitsSince(claiming)
	c.Verdict, c.Until = messages.Busy, m.now.Add(min(atMostAfter, max(afterAnother, m.now.Sub(claiming.waits))))
	return true
}
