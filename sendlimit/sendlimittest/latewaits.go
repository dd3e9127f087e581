package sendlimittest

import (
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
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

// sendingAhead returns until when older messages of the class of a late one are being
// sent, by their leases. The claimed one is not, as it is taken over.
func (m *mailbox) sendingAhead(late, claiming *message) (until time.Time, ahead bool) {
	g := m.regime()
	for _, known := range m.messages {
		pair := []*message{known, late}
		inOrder(pair)
		if known != late && known != claiming && pair[0] == known && known.state == sending && !known.reached() && !known.uncounted &&
			g.class(known.category) == g.class(late.category) {
			ahead = true
			if known.leaseEnd.After(until) {
				until = known.leaseEnd
			}
		}
	}
	return until, ahead
}

// heldUp reports whether an older message of its class is being sent, for which a late one
// waits.
func (m *mailbox) heldUp(late, claiming *message) bool {
	_, ahead := m.sendingAhead(late, claiming)
	return ahead
}

// waitsFrom reports whether a message still waits for an older one, and answers so. Its
// patience does not start before from.
func (m *mailbox) waitsFrom(claiming *message, from time.Time, c *messages.Claim) bool {
	left := claiming.expiry(m.options.ExpireAfter).Sub(m.now)
	since := claiming.waits
	if since.IsZero() {
		since = m.now
	}
	if from.Before(since) {
		from = since
	}
	if m.now.Sub(from) >= patience || left <= inReserve {
		return false
	}
	claiming.waits = since
	c.Verdict, c.Until = messages.Busy, m.now.Add(min(atMostAfter, max(afterAnother, m.now.Sub(since))))
	return true
}
