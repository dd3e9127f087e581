package sendlimittest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/messages"
)

// CheckDeliveries compares short histories as CheckMessages does. Each is made of whole deliveries at
// the edges of what decides about a message, which single steps seldom meet.
func CheckDeliveries(t *rapid.T, client redis.UniversalClient, prefix string) {
	for k := range 16 {
		m := newMailbox(t, client, drawOptions(t, fmt.Sprintf("%s-%d", prefix, k)))
		m.begin(t)
		for range 3 {
			m.submitSome(t)
			for range 2 {
				m.deliver(t)
				m.inspect(t)
			}
		}
	}
}

// deliver tries a message several times, each at an edge, and then changes it or tries another one.
func (m *mailbox) deliver(t *rapid.T) {
	known := m.messages[m.drawKnown(t, (*message).isOpen)]
	if known == nil || !known.isOpen() {
		return
	}
	if known.due().After(m.now) {
		m.passUntil(t, known.due())
	}
	reaches := rapid.Bool().Draw(t, "reaches a device")
	m.attempt(t, known, reaches)
	for range rapid.IntRange(0, 3).Draw(t, "more attempts") {
		m.waitForEdge(t, known)
		m.intervene(t)
		m.attempt(t, known, reaches)
	}
	switch rapid.IntRange(0, 4).Draw(t, "then") {
	case 0:
		m.waitForEdge(t, known)
		change := rapid.SampledFrom([]string{"move", "edit", "cancel"}).Draw(t, "change")
		map[string]func(*rapid.T, string){"move": m.move, "edit": m.edit, "cancel": m.cancel}[change](t, known.id)
	case 1, 2:
		m.deliverOthers(t, known)
	case 3:
		m.fillUntilExpiry(t, known)
		m.attempt(t, known, reaches)
		m.retry(t, known.id)
	default:
		m.waitForEdge(t, known)
		m.retry(t, known.id)
		m.move(t, known.id)
	}
}

// intervene sometimes changes the user's settings, lets a former worker settle, or lets the gate
// give up all that is due by now, as after a restore.
func (m *mailbox) intervene(t *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(t, "meanwhile") {
	case 7:
		m.changeSettings(t)
	case 8:
		m.settle(t)
	case 9:
		m.options.DropDueBefore = m.now.Add(time.Millisecond)
		m.follow(t)
	}
}

// deliverOthers lets time pass to an edge of another message, and tries all others that are due.
func (m *mailbox) deliverOthers(t *rapid.T, known *message) {
	if next := m.messages[m.drawKnown(t, func(other *message) bool { return other != known && other.isOpen() })]; next != nil {
		m.waitForEdge(t, next)
	}
	for _, id := range historyIDs {
		if other := m.messages[id]; other != nil && other != known && other.isOpen() && !m.now.Before(other.due()) {
			m.attempt(t, other, false)
		}
	}
}

// attempt lets a new worker claim a message. It may die before it settles.
func (m *mailbox) attempt(t *rapid.T, known *message, reaches bool) {
	d := messages.Delivery{
		User: mailboxUser, ID: known.id, Generation: known.generation(), Nonce: m.newToken("n"), Paused: m.loadPaused(t),
	}
	m.claimAs(t, d)
	if known.holder != d.Nonce || known.state != sending || rapid.Bool().Draw(t, "the worker dies") {
		return
	}
	s := m.drawSettlement(t, known)
	if reaches && !s.Progress.Done("phone") {
		s.Progress = append(s.Progress, messages.DeviceDone{Device: "phone", State: messages.DeviceDelivered})
	}
	if reaches && rapid.Bool().Draw(t, "goes on") {
		s = messages.Settlement{Outcome: messages.Retried, Progress: s.Progress, Reason: "busy", Retry: m.drawRetry(t)}
	}
	m.settleAs(t, d, s)
}

// waitForEdge lets time pass to an edge of the judgement of a message.
func (m *mailbox) waitForEdge(t *rapid.T, known *message) {
	tolerated := known.at.Add(m.options.Tolerance)
	edges := []time.Time{known.leaseEnd, known.notBefore, tolerated, tolerated, known.expiry(m.options.ExpireAfter)}
	edges = slices.DeleteFunc(edges, func(at time.Time) bool { return at.Before(m.now) })
	if len(edges) > 0 {
		edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
		if at := rapid.SampledFrom(edges).Draw(t, "until").Add(edge); at.After(m.now) {
			m.passUntil(t, at)
		}
	}
}

// fillUntilExpiry submits messages now, so that a rule leaves no time until a message expires, or
// until 1 ms before or after.
func (m *mailbox) fillUntilExpiry(t *rapid.T, known *message) {
	rule := rapid.SampledFrom(m.options.policies[0].Rules).Draw(t, "rule")
	edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
	from := known.expiry(m.options.ExpireAfter).Add(edge - rule.Window)
	if rule.Window == 0 || from.Before(m.now) {
		return
	}
	m.passUntil(t, from)
	for _, id := range historyIDs {
		if id != known.id && m.messages[id].isFree() && rule.Limit > 0 {
			m.submitMessage(t, id, from)
			rule.Limit--
		}
	}
}
