package sendlimittest

import (
	"crypto/sha1" //nolint:gosec // what the scripts make generations of
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// The late half of the gate: what a claim past the tolerance does to all late
// messages of the user.

// mostPlaced is how many late messages one call of the script places.
const mostPlaced = 100

// postponed is the generation that a claim gives to a message it places.
func postponed(generation, nonce string) string {
	sum := sha1.Sum([]byte(generation + "/" + nonce)) //nolint:gosec // an id, not a signature
	return hex.EncodeToString(sum[:])[:18]
}

// late judges a message that its own task claims past the tolerance, with all
// others that are late, until there is an answer for the one.
func (m *mailbox) late(claiming *message, nonce string, c sendlimit.Claim) sendlimit.Claim {
	for answered := false; !answered; {
		if m.anotherFirst(m.candidates(claiming), claiming) {
			if claiming.waits.IsZero() && claiming.expiry(m.options.ExpireAfter).Sub(m.now) > inReserve {
				claiming.waits = m.now
			}
			left := claiming.expiry(m.options.ExpireAfter).Sub(m.now)
			if waited := m.now.Sub(claiming.waits); waited < patience && left > inReserve {
				c.Verdict, c.Until = sendlimit.Busy, m.now.Add(min(atMostAfter, max(afterAnother, waited)))
				return c
			}
		}
		answered = m.replace(m.candidates(claiming), claiming, nonce, &c)
	}
	return c
}

// afterAnother is how long a message waits for an older one before it looks
// again, at least, atMostAfter at most, patience how long in all, and inReserve
// what it keeps of the time until it expires.
const (
	afterAnother = 500 * time.Millisecond
	atMostAfter  = 2 * time.Second
	patience     = 30 * time.Second
	inReserve    = 5 * time.Second
)

// anotherFirst says whether the oldest candidate that can be sent at all is
// another message, and can go at once.
func (m *mailbox) anotherFirst(candidates []*message, claiming *message) bool {
	others := m.remembered()
	for _, known := range candidates {
		others = others.without(known.id)
	}
	for _, known := range candidates[:min(len(candidates), mostPlaced)] {
		expiry := known.expiry(m.options.ExpireAfter)
		if !m.now.Before(expiry) {
			continue
		}
		if free, ok := m.model.rules.nextFree(others, cut(m.now), cut(expiry)-1); ok {
			return known != claiming && free == cut(m.now)
		}
	}
	return false
}

// candidates are the late messages that nothing else holds back, the oldest
// first.
func (m *mailbox) candidates(claiming *message) []*message {
	var late []*message
	for _, known := range m.messages {
		waits := known.state == pending && !m.now.Before(known.due()) && known.at.Add(m.options.Tolerance).Before(m.now)
		if known == claiming || waits && !known.at.Before(m.options.DropDueBefore) {
			late = append(late, known)
		}
	}
	inOrder(late)
	return late
}

// replace gives the oldest candidates in order the first time from now on that
// is free beside everything else and those before it. Where the younger ones
// stood does not count either: they will be placed behind these. It reports
// whether the message that is being claimed is among them.
func (m *mailbox) replace(candidates []*message, claiming *message, nonce string, c *sendlimit.Claim) bool {
	others := m.remembered()
	for _, known := range candidates {
		others = others.without(known.id)
	}
	found := false
	from := cut(m.now)
	reasons := []string{"late"}
	for _, known := range candidates[:min(len(candidates), mostPlaced)] {
		expiry := known.expiry(m.options.ExpireAfter)
		found = found || known == claiming
		if !m.now.Before(expiry) {
			m.dropLate(known, claiming, nonce, reasonExpired, c)
			continue
		}
		free, ok := m.model.rules.nextFree(others, from, cut(expiry)-1)
		if !ok {
			m.dropLate(known, claiming, nonce, reasonNoFreeTime, c)
			continue
		}
		if free > from { // else it waits for what the one before it waits for
			reasons = m.model.rules.inTheWay(others, span{from, free})
		}
		others, from = others.with(entry{free, known.id}), free
		known.put(moment(free))
		if known == claiming && free == cut(m.now) {
			c.TakenOver = known.state == sending
			m.hold(known, nonce)
			*c = m.send(known, *c)
			continue
		}
		known.doubt = known.doubt || known.state == sending
		known.state, known.reason, known.reasons = pending, "", reasons
		known.renew(postponed(known.generation(), nonce), m.now.Add(m.options.LookAfter))
		c.Placed = append(c.Placed, known.placement())
		if known == claiming {
			known.claimedBy(nonce)
			known.holder = "" // nobody has it
			c.Verdict = sendlimit.Postponed
		}
	}
	return found
}

// dropLate ends a late message that can't be sent any more.
func (m *mailbox) dropLate(known, claiming *message, nonce, reason string, c *sendlimit.Claim) {
	known.endUnsent(reason, m.now)
	if known != claiming {
		c.Dropped = append(c.Dropped, sendlimit.Drop{ID: known.id, Reason: known.reason, SendAt: known.at})
		return
	}
	known.claimedBy(nonce)
	c.Verdict, c.SendAt, c.Reason = sendlimit.Dropped, known.at, known.reason
}

// inTheWay spells why a message is postponed: by a rule that does not let it go
// somewhere in a span.
func (rs rules) inTheWay(tl timeline, s span) []string {
	var reasons []string
	for t := s.from; t < s.until; t = min(rs.nextEdge(tl, t, entering), rs.nextEdge(tl, t, leaving)) {
		for _, v := range rs.violations(tl, t) {
			reasons = append(reasons, lateness(v.Rule))
		}
	}
	return reasons
}

// lateness spells a rule as the reason of a postponement, as the scripts do.
func lateness(r sendlimit.Rule) string {
	window := strconv.FormatInt(r.Window.Milliseconds(), 10)
	if r.Calendar() {
		window = map[sendlimit.Period]string{
			sendlimit.Minute: "-1", sendlimit.Hour: "-2", sendlimit.Day: "-3", sendlimit.Week: "-4", sendlimit.Month: "-5",
		}[r.Period]
	}
	return fmt.Sprintf("late %d %s", r.Limit, window)
}
