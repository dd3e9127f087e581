package sendlimittest

import (
	"crypto/sha1" //nolint:gosec // what the scripts make generations of
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
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
// others that are late, until there is an answer for the one. An exempt one goes
// at once, whatever else is late.
func (m *mailbox) late(claiming *message, nonce string, c messages.Claim) messages.Claim {
	g := m.regime()
	if g.exempt[claiming.category] {
		return m.sendLate(claiming, nonce, cut(m.now), c)
	}
	for answered := false; !answered; {
		plan := m.plan(m.candidates(claiming))
		if m.anotherFirst(plan, claiming) {
			if claiming.waits.IsZero() && claiming.expiry(m.options.ExpireAfter).Sub(m.now) > inReserve {
				claiming.waits = m.now
			}
			left := claiming.expiry(m.options.ExpireAfter).Sub(m.now)
			if waited := m.now.Sub(claiming.waits); waited < patience && left > inReserve {
				c.Verdict, c.Until = messages.Busy, m.now.Add(min(atMostAfter, max(afterAnother, waited)))
				return c
			}
		}
		answered = m.carryOut(plan, claiming, nonce, &c)
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

// planned is where a late message goes.
type planned struct {
	*message

	to      int64    // Unix ms; where it is dropped it has none
	dropped string   // why, if so
	reasons []string // of being late for as long as that: one of these
}

// plan gives the oldest candidates in order the first time from now on that is
// free for them beside everything else and those before them, and none that is
// before the last of their class. Where the younger ones stood does not count
// either: they will be placed behind these.
func (m *mailbox) plan(candidates []*message) []planned {
	g := m.regime()
	others := m.remembered().counted()
	for _, known := range candidates {
		others = others.without(known.id)
	}
	from, reasons := make(map[string]int64), make(map[string][]string)
	var plan []planned
	for _, known := range candidates[:min(len(candidates), mostPlaced)] {
		class, terms := g.class(known.category), g.of(known.category)
		if from[class] == 0 {
			from[class], reasons[class] = cut(m.now), []string{"late"}
		}
		expiry := known.expiry(m.options.ExpireAfter)
		if !m.now.Before(expiry) {
			plan = append(plan, planned{message: known, dropped: reasonExpired})
			continue
		}
		free, ok := terms.nextFree(others, from[class], cut(expiry)-1)
		if !ok {
			plan = append(plan, planned{message: known, dropped: reasonNoFreeTime})
			continue
		}
		if free > from[class] { // else it waits for what the one before it waits for
			reasons[class] = terms.inTheWay(others, span{from[class], free})
		}
		plan = append(plan, planned{message: known, to: free, reasons: reasons[class]})
		others, from[class] = others.with(entry{at: free, id: known.id, category: known.category}), free
	}
	return plan
}

// anotherFirst says whether the oldest message of its class that can be sent at
// all is another one, and can go at once.
func (m *mailbox) anotherFirst(plan []planned, claiming *message) bool {
	g := m.regime()
	i := slices.IndexFunc(plan, func(p planned) bool {
		return p.dropped == "" && g.class(p.category) == g.class(claiming.category)
	})
	return i >= 0 && plan[i].message != claiming && plan[i].to == cut(m.now)
}

// candidates are the late messages that nothing else holds back, the oldest first.
// One that is exempt, or whose place has not counted so far, is left to its own
// task.
func (m *mailbox) candidates(claiming *message) []*message {
	g := m.regime()
	var late []*message
	for _, known := range m.messages {
		waits := known.state == pending && !m.now.Before(known.due()) && known.at.Add(m.options.Tolerance).Before(m.now)
		judged := !g.exempt[known.category] && !known.uncounted
		if known == claiming || waits && judged && !known.at.Before(m.options.DropDueBefore) {
			late = append(late, known)
		}
	}
	inOrder(late)
	return late
}

// carryOut gives late messages the places planned. It reports whether the one
// that is being claimed is among them.
func (m *mailbox) carryOut(plan []planned, claiming *message, nonce string, c *messages.Claim) bool {
	found := false
	for _, p := range plan {
		known := p.message
		found = found || known == claiming
		switch {
		case p.dropped != "":
			m.dropLate(known, claiming, nonce, p.dropped, c)
		case known == claiming && p.to == cut(m.now):
			*c = m.sendLate(known, nonce, p.to, *c)
		default:
			m.postpone(known, nonce, p)
			c.Placed = append(c.Placed, known.placement())
			if known == claiming {
				known.claimedBy(nonce)
				known.holder = "" // nobody has it
				c.Verdict = messages.Postponed
			}
		}
	}
	return found
}

// sendLate takes a late message for a delivery now.
func (m *mailbox) sendLate(known *message, nonce string, now int64, c messages.Claim) messages.Claim {
	known.put(moment(now), m.regime())
	c.TakenOver = known.state == sending
	m.hold(known, nonce)
	return m.send(known, c)
}

// postpone gives a late message another time, and another generation.
func (m *mailbox) postpone(known *message, nonce string, p planned) {
	known.put(moment(p.to), m.regime())
	known.doubt = known.doubt || known.state == sending
	known.state, known.reason, known.reasons = pending, "", p.reasons
	known.renew(postponed(known.generation(), nonce), m.now.Add(m.options.LookAfter))
}

// dropLate ends a late message that can't be sent any more.
func (m *mailbox) dropLate(known, claiming *message, nonce, reason string, c *messages.Claim) {
	known.endUnsent(reason, m.now)
	if known != claiming {
		c.Dropped = append(c.Dropped, messages.Drop{ID: known.id, Reason: known.reason, SendAt: known.at})
		return
	}
	known.claimedBy(nonce)
	c.Verdict, c.SendAt, c.Reason = messages.Dropped, known.at, known.reason
}

// inTheWay spells why a message is postponed: by what does not let it go
// somewhere in a span.
func (ts terms) inTheWay(tl timeline, s span) []string {
	var reasons []string
	for t := s.from; t < s.until; t = min(ts.nextEdge(tl, t, entering), ts.nextEdge(tl, t, leaving)) {
		if ts.quiet.at(t) {
			reasons = append(reasons, "late quiet")
		}
		for _, v := range ts.violations(tl, t) {
			reasons = append(reasons, lateness(v))
		}
	}
	return reasons
}

// lateness spells a broken rule as the reason of a postponement, as the scripts
// do.
func lateness(v sendlimit.Violation) string {
	window := strconv.FormatInt(v.Rule.Window.Milliseconds(), 10)
	if v.Rule.Calendar() {
		window = map[calendar.Period]string{
			calendar.Minute: "-1", calendar.Hour: "-2", calendar.Day: "-3", calendar.Week: "-4", calendar.Month: "-5",
		}[v.Rule.Period]
	}
	return strings.TrimSpace(fmt.Sprintf("late %d %s %s", v.Rule.Limit, window, v.Category))
}
