package sendlimittest

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"

	"github.com/sendlimit/sendlimiter/records/messages"
)

// Messages that may have arrived: they count at their places until they are sent again.

// mayHaveArrived reports whether nobody knows if the message arrived.
func (m *message) mayHaveArrived() bool { return m.doubt || m.state == sending }

// arrivedAtPlace reports whether a pending message may have arrived, by now at its place. A dead
// letter that was revived may have a later one.
func (m *mailbox) arrivedAtPlace(known *message) bool {
	return known.doubt && cut(known.at) <= cut(m.now)
}

// expectAgain expects that a late message which may have arrived is sent again now, if the rules
// leave that free, and else waits for the next free time. It gets no place before it is sent.
func (m *mailbox) expectAgain(known *message, nonce string, c messages.Claim) messages.Claim {
	others, terms := m.remembered().counted().remove(known.id), m.regime().termsOf(known.category)
	now, expiry := cut(m.now), cut(known.expiry(m.options.ExpireAfter))
	change := m.model.regime(mailboxUser).stretch(now).until
	till, free := terms.nextFree(others, now, min(expiry, change)-1)
	switch {
	case free && till == now:
		return m.sendLate(known, nonce, now, c)
	case !free && change >= expiry:
		return m.drop(known, nonce, reasonNoFreeTime, c)
	case !free:
		till = change
	}
	m.waitUntil(known, nonce, planned{wakes: till, reasons: terms.inTheWay(others, span{now, till})})
	c.Verdict = messages.Postponed
	return c
}

// keepFormerPlace lets the place of a cancelled message count that may have arrived there.
func (m *mailbox) keepFormerPlace(known *message) {
	if !m.arrivedAtPlace(known) || known.uncounted {
		return
	}
	e := known.place()
	sum := sha1.Sum([]byte(known.id + "/" + stored(known.at))) //nolint:names // an id, not a signature
	e.id = "purged-" + hex.EncodeToString(sum[:])[:20]
	m.former = slices.DeleteFunc(m.former, func(other entry) bool { return other.id == e.id })
	m.former = append(m.former, e)
}

// places returns the places of all messages, and those of former messages that may have arrived.
func (m *mailbox) places() timeline {
	all := places(m.messages)
	for _, e := range m.former {
		all = all.add(e)
	}
	return all
}
