package sendlimittest

import (
	"cmp"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
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
	reasonBlocked    = "blocked"
	reasonOptedOut   = "opted_out"
	reasonNoFreeTime = "no_free_time"
	reasonRestored   = "restored"
	reasonUncertain  = "uncertain"
)

// message is the expected state of a message.
type message struct {
	id          string
	state       state
	generations []string // the last one is current
	at          time.Time
	promised    time.Time // the former at, before it was first late; zero if that is at
	stood       time.Time // the former at, before it was last late
	requested   time.Time // zero if it always was at
	shifted     bool
	category    string
	uncounted   bool // whether its place is among those that do not count
	content     string
	campaign    string
	metadata    string
	trace       []byte    // nil for none; nothing changes it
	local       string    // how its time was read from a local time, until it is moved
	expires     time.Time // zero for the default, from the promised time on
	nonces      []string  // of all deliveries that claimed, in order
	holder      string    // nonce of the delivery that may settle, or that ended it
	began       time.Time // of that delivery
	leaseEnd    time.Time
	grace       gracePeriod // after the lease
	notBefore   time.Time   // of a retry
	moves       int         // in the minute from movesSince on
	movesSince  time.Time
	moved       bool // since it was accepted or revived
	attempts    int
	doubt       bool // an earlier delivery may have arrived
	progress    messages.Progress
	stopped     bool      // a claim ended it, as it had reached a device
	waits       time.Time // since when it waits for an older late one
	reason      string    // of its end, postponement or retry
	words       string    // what the provider said of a dead letter, or its id of a delivered message
	reasons     []string  // of a postponed message: one of these
	ended       time.Time // of a delivered message, the start of the delivery
	lookAt      time.Time // time of the watch entry
	far         bool      // whether the watch entry is in a far list
	placeless   bool      // its place was given back
	accepted    time.Time
	accept      time.Time // the send time it was accepted for
	print       string    // its fingerprint, of what it was accepted with
	edited      bool      // its caller moved or edited it since
	replaced    bool      // it was accepted in place of another message
	history     []change  // between its accept and its end
}

func (m *message) generation() string { return m.generations[len(m.generations)-1] }

// isOpen reports whether the message is pending or being sent.
func (m *message) isOpen() bool { return m.state == pending || m.state == sending }

// isNear reports whether the message is open and workers may know of it.
func (m *message) isNear() bool { return m.isOpen() && !m.far }

// isFree reports whether the id may be used again.
func (m *message) isFree() bool {
	return m == nil || m.state == cancelled || m.state == dropped || m.state == failed
}

// due returns the time from which the message may be sent.
func (m *message) due() time.Time {
	if m.state == pending && !m.notBefore.IsZero() {
		return m.notBefore
	}
	return m.at
}

// movesIn returns how many moves count at a time.
func (m *message) movesIn(now time.Time) int {
	if m.moves == 0 || !now.Before(m.movesSince.Add(time.Minute)) {
		return 0
	}
	return m.moves
}

// countMove counts a move.
func (m *message) countMove(now time.Time) {
	if m.moves = m.movesIn(now) + 1; m.moves == 1 {
		m.movesSince = now
	}
}

// superseded returns the timer that a change of the pending message ends.
func (m *message) superseded() sendlimit.Timer {
	return sendlimit.Timer{User: mailboxUser, ID: m.id, Generation: m.generation(), Due: m.due()}
}

// firstPromised returns the send time that was promised first.
func (m *message) firstPromised() time.Time {
	if m.promised.IsZero() {
		return m.at
	}
	return m.promised
}

func (m *message) expiry(after time.Duration) time.Time {
	if m.expires.IsZero() {
		return m.firstPromised().Add(after)
	}
	return m.expires
}

// postponeTo gives a late message another place.
func (m *message) postponeTo(at time.Time, g *regime) {
	m.promised, m.stood, m.at, m.notBefore, m.waits = m.firstPromised(), m.at, at, time.Time{}, time.Time{}
	m.uncounted = g.uncounted[m.category]
}

// renew gives the message another generation and watch entry.
func (m *message) renew(generation string, lookAt time.Time) {
	m.generations = append(m.generations, generation)
	m.lookAt, m.far = lookAt, false
}

// addClaim sets the delivery that holds or ends the message.
func (m *message) addClaim(nonce string) {
	m.holder = nonce
	m.nonces = append(m.nonces, nonce)
}

// end ends the message. It keeps its place only if it was or may have been
// delivered.
func (m *message) end(how state, reason string, at time.Time) {
	m.state, m.reason, m.words, m.reasons, m.ended = how, reason, "", nil, at
	m.placeless = how == cancelled || how == failed || how == dropped
}

// endUnsent drops the message. If a delivery may have arrived, the message ends as
// uncertain.
func (m *message) endUnsent(reason string, at time.Time) {
	if m.doubt || m.state == sending {
		m.end(uncertain, reasonUncertain, at)
		return
	}
	m.end(dropped, reason, at)
}

// deadLetter reports whether the message is a dead letter. Those keep their
// content for a retry.
func (m *message) deadLetter() bool { return m.state == failed || m.state == uncertain }

// places returns the timeline of all messages that are open or that were or may
// have been delivered.
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

// place returns the message's place.
func (m *message) place() entry {
	return entry{at: cut(m.at), id: m.id, category: m.category, uncounted: m.uncounted}
}

// inOrder sorts messages by send time, then id.
func inOrder(messages []*message) {
	slices.SortFunc(messages, func(a, b *message) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
}

// letter returns the letter of a state in records, "" for pending.
func (s state) letter() string {
	return map[state]string{
		sending: "s", delivered: "d", cancelled: "c", dropped: "x", failed: "f", uncertain: "u",
	}[s]
}

// postponedBy reports whether this delivery gave the message its place.
func (m *message) postponedBy(d messages.Delivery) bool {
	return m != nil && m.state == pending && m.generation() == postponed(d.Generation, d.Nonce)
}

// origin returns where the message comes from: nobody is charged in a history.
func (m *message) origin() sendlimit.Origin { return sendlimit.Origin{Campaign: m.campaign} }

// placement returns the answer of a claim about a postponed message.
func (m *message) placement() messages.Placement {
	return messages.Placement{
		Timer: sendlimit.Timer{User: mailboxUser, ID: m.id, Generation: m.generation(), Due: m.at, Origin: m.origin()}, From: m.stood,
	}
}

// firstRequested returns the time of the request, zero if it is at.
func (m *message) firstRequested() time.Time {
	if m.requested.IsZero() {
		return m.promised
	}
	return m.requested
}
