package sendlimittest

import (
	"cmp"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

type state string

const (
	pending   state = "pending"
	sending   state = "sending"
	delivered state = "delivered"
	cancelled state = "cancelled"
	dropped   state = "dropped"
	failed    state = "failed"
	uncertain state = "uncertain"
)

// Why a message was dropped.
const (
	reasonExpired    = "expired"
	reasonNoFreeTime = "no_free_time"
	reasonRestored   = "restored"
	reasonUncertain  = "uncertain"
)

// message is what is known of a message.
type message struct {
	id          string
	state       state
	generations []string // the last one is the present one
	at          time.Time
	promised    time.Time // what at was before it was first late; zero where that is at
	stood       time.Time // what at was before it was last late
	requested   time.Time // zero where it is, and always was, at
	shifted     bool
	category    string
	uncounted   bool // where its place is, if it has one
	content     string
	expires     time.Time // zero for the default, counted from what was promised
	nonces      []string  // of all deliveries that claimed, in order
	holder      string    // the nonce of the one that may settle, or that ended it
	began       time.Time // that delivery
	leaseEnd    time.Time
	notBefore   time.Time // of a retry
	attempts    int
	doubt       bool      // a delivery before may have arrived
	waits       time.Time // since when, for an older one that is late
	reason      string    // why it ended, was postponed or is tried again
	reasons     []string  // of a postponed one: one of these
	ended       time.Time // of a delivered one, when its delivery began
	lookAt      time.Time // the watch entry of the present generation
	placeless   bool      // its place was given back
}

func (m *message) generation() string { return m.generations[len(m.generations)-1] }

// open reports whether the message is still to be sent, or being sent.
func (m *message) open() bool { return m.state == pending || m.state == sending }

// free reports whether the id may be used again.
func (m *message) free() bool {
	return m == nil || m.state == cancelled || m.state == dropped || m.state == failed
}

// due is when the message may be sent.
func (m *message) due() time.Time {
	if m.state == pending && !m.notBefore.IsZero() {
		return m.notBefore
	}
	return m.at
}

// first is the send time that was promised.
func (m *message) first() time.Time {
	if m.promised.IsZero() {
		return m.at
	}
	return m.promised
}

func (m *message) expiry(after time.Duration) time.Time {
	if m.expires.IsZero() {
		return m.first().Add(after)
	}
	return m.expires
}

// put gives the message another place because it is late.
func (m *message) put(at time.Time, g *regime) {
	m.promised, m.stood, m.at, m.notBefore, m.waits = m.first(), m.at, at, time.Time{}, time.Time{}
	m.uncounted = g.uncounted[m.category]
}

// renew gives the message another generation, and a watch entry for it.
func (m *message) renew(generation string, lookAt time.Time) {
	m.generations = append(m.generations, generation)
	m.lookAt = lookAt
}

// claimedBy notes a delivery that holds the message, or ends it.
func (m *message) claimedBy(nonce string) {
	m.holder = nonce
	m.nonces = append(m.nonces, nonce)
}

// end ends the message. Only what counts, or may count, keeps its place.
func (m *message) end(how state, reason string, at time.Time) {
	m.state, m.reason, m.reasons, m.ended = how, reason, nil, at
	m.placeless = how == cancelled || how == failed || how == dropped
}

// endUnsent ends a message that can't be sent any more, unless it may have been.
func (m *message) endUnsent(reason string, at time.Time) {
	if m.doubt || m.state == sending {
		m.end(uncertain, reasonUncertain, at)
		return
	}
	m.end(dropped, reason, at)
}

// deadLetter reports whether somebody should look at how the message ended. It
// keeps its content, so that it can be sent after all.
func (m *message) deadLetter() bool { return m.state == failed || m.state == uncertain }

// places is a user's timeline as the messages have it: all that is or may have
// been delivered, and all that is to be, however long ago.
func places(messages map[string]*message) timeline {
	var tl timeline
	for _, known := range messages {
		if !known.placeless {
			tl = append(tl, known.place())
		}
	}
	slices.SortFunc(tl, compareEntries)
	return tl
}

// place is the message's place as it is now.
func (m *message) place() entry {
	return entry{at: cut(m.at), id: m.id, category: m.category, uncounted: m.uncounted}
}

// inOrder sorts messages as they were to be sent.
func inOrder(messages []*message) {
	slices.SortFunc(messages, func(a, b *message) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
}

// letter is how a record spells a state; a pending message's is absent.
func (s state) letter() string {
	return map[state]string{
		sending: "s", delivered: "d", cancelled: "c", dropped: "x", failed: "f", uncertain: "u",
	}[s]
}

// postponedBy reports whether this delivery gave the message the place it has.
func (m *message) postponedBy(d messages.Delivery) bool {
	return m != nil && m.state == pending && m.generation() == postponed(d.Generation, d.Nonce)
}

// placement is how a claim tells that the message got another place.
func (m *message) placement() messages.Placement {
	return messages.Placement{ID: m.id, Generation: m.generation(), At: m.at, From: m.stood}
}

// firstRequested is the time that was asked for, zero where it is at.
func (m *message) firstRequested() time.Time {
	if m.requested.IsZero() {
		return m.promised
	}
	return m.requested
}
