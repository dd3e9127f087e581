package sendlimittest

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// maxPlaced is the maximum of late messages that one call of the script places.
const maxPlaced = 80

// postponed returns the generation that a claim gives to a message it postpones.
func postponed(generation, nonce string) string {
	sum := sha1.Sum([]byte(generation + "/" + nonce)) //nolint:names // an id, not a signature
	return hex.EncodeToString(sum[:])[:18]
}

// expectLateClaim judges a message that is claimed after the tolerance, together
// with all other late messages, until there is an answer for it. An exempt
// message is sent immediately.
func (m *mailbox) expectLateClaim(claiming *message, nonce string, c messages.Claim) messages.Claim {
	g := m.regime()
	if g.exempt[claiming.category] {
		return m.sendLate(claiming, nonce, cut(m.now), c)
	}
	if claiming.mayHaveArrived() {
		return m.expectAgain(claiming, nonce, c)
	}
	for answered := false; !answered; {
		plan := m.plan(m.candidates(claiming), claiming)
		if m.anotherFirst(plan, claiming) && m.waitsFrom(claiming, time.Time{}, &c) {
			return c
		}
		if until, ahead := m.sendingAhead(claiming, claiming); ahead && (m.goesNow(plan, claiming) || m.leavesOut(claiming)) && m.waitsFrom(claiming, until, &c) {
			return c
		}
		answered = m.carryOut(plan, claiming, nonce, &c)
	}
	return c
}

// How long a message waits for an older one.
const (
	afterAnother = 500 * time.Millisecond // at least, until it is claimed again
	atMostAfter  = 2 * time.Second        // at most, until it is claimed again
	patience     = 30 * time.Second       // in total
	inReserve    = 5 * time.Second        // it stops waiting this long before it expires
)

// planned is the new place of a late message.
type planned struct {
	*message

	to      int64    // Unix ms, unless it is dropped
	wakes   int64    // Unix ms: it waits until other rules apply; or 0
	dropped string   // why, or ""
	reasons []string // one of them is recorded
}

// plan gives each of the oldest candidates, in the order in which they were promised, the
// next free time from now on. No candidate gets a time before the previous one of its
// class, or before one that was late earlier and still waits. The former places of
// candidates do not count.
func (m *mailbox) plan(candidates []*message, claiming *message) (plan []planned) {
	g := m.regime()
	placed := candidates[:min(len(candidates), maxPlaced)]
	placed = append(slices.Clone(placed), m.displaced(placed)...)
	slices.SortFunc(placed, byPromise)
	others := m.remembered().counted()
	for _, known := range slices.Concat(candidates, placed) {
		others = others.remove(known.id)
	}
	for id, known := range m.messages {
		gone := g.exempt[known.category] && !m.now.Before(known.expiry(m.options.ExpireAfter)) || g.switchedOff(known.category) != ""
		late := m.isLate(known) || m.isOverdue(known) && g.switchedOff(known.category) != "" // also of a paused campaign
		if late && (gone || !g.exempt[known.category] && m.heldUp(known, claiming)) {
			others = others.remove(id) // its claim will drop it, or give it another place
		}
	}
	from, reasons := make(map[string]int64), make(map[string][]string)
	change := m.model.regime(mailboxUser).stretch(cut(m.now)).until
	for _, known := range placed {
		class, terms := g.class(known.category), g.termsOf(known.category)
		if from[class] == 0 {
			from[class], reasons[class] = cut(m.now), []string{"late"}
		}
		from[class] = max(from[class], m.lastWaiting(known, placed))
		expiry := known.expiry(m.options.ExpireAfter)
		if !m.now.Before(expiry) {
			plan = append(plan, planned{message: known, dropped: reasonExpired})
			continue
		}
		free, ok := terms.nextFree(others, from[class], min(cut(expiry), change)-1)
		if !ok && change < cut(expiry) {
			if from[class] < change {
				reasons[class] = terms.inTheWay(others, span{from[class], change})
			}
			plan, from[class] = append(plan, planned{message: known, wakes: change, reasons: reasons[class]}), change
			continue
		}
		if !ok {
			plan = append(plan, planned{message: known, dropped: reasonNoFreeTime})
			continue
		}
		if free > from[class] { // otherwise the reason is the same as before
			reasons[class] = terms.inTheWay(others, span{from[class], free})
		}
		plan = append(plan, planned{message: known, to: free, reasons: reasons[class]})
		others, from[class] = others.add(entry{at: free, id: known.id, category: known.category}), free
	}
	return plan
}

// byPromise compares messages by the times that were promised first, then by id.
func byPromise(a, b *message) int {
	return cmp.Or(a.firstPromised().Compare(b.firstPromised()), cmp.Compare(a.id, b.id))
}

// wasPostponed reports whether a message was late and has a later place.
func (m *mailbox) wasPostponed(known *message) bool {
	return known.waitsForRules() && !known.doubt && !known.promised.IsZero() && known.notBefore.IsZero() &&
		!m.regime().exempt[known.category]
}

// waitsForPlace reports whether a message was late and waits for its later place.
func (m *mailbox) waitsForPlace(known *message) bool {
	return m.wasPostponed(known) && cut(known.at) > cut(m.now)
}

// displaced returns the messages that wait, or are on time at their later places, and were
// promised later than a late one of their class that was not tried: they are placed again.
func (m *mailbox) displaced(late []*message) []*message {
	g := m.regime()
	oldest := make(map[string]time.Time)
	for _, known := range late {
		class := g.class(known.category)
		if at, ok := oldest[class]; known.attempts == 0 && (!ok || known.firstPromised().Before(at)) {
			oldest[class] = known.firstPromised()
		}
	}
	var waiting []*message
	for _, known := range m.messages {
		at, ok := oldest[g.class(known.category)]
		unwanted := g.switchedOff(known.category) != ""
		onTime := !m.now.After(known.at.Add(m.options.Tolerance)) && !known.at.Before(m.options.DropDueBefore)
		if ok && m.wasPostponed(known) && onTime && !slices.Contains(late, known) && !unwanted && !m.isHeld(known) &&
			known.firstPromised().After(at) {
			waiting = append(waiting, known)
		}
	}
	slices.SortFunc(waiting, byPromise)
	return waiting[:max(0, min(len(waiting), maxPlaced-len(late)))]
}

// lastWaiting returns the place of the message of a late one's class that was promised last
// before it, was late before and waits for its place; 0 if there is none.
func (m *mailbox) lastWaiting(late *message, placed []*message) int64 {
	g := m.regime()
	var last *message
	for _, known := range m.messages {
		if m.waitsForPlace(known) && !m.isHeld(known) && !slices.Contains(placed, known) && g.class(known.category) == g.class(late.category) &&
			byPromise(known, late) < 0 && (last == nil || byPromise(last, known) < 0) {
			last = known
		}
	}
	if last == nil {
		return 0
	}
	return cut(last.at)
}

// olderIsOverdue reports whether a message that is on time at a later place has to wait for
// an older one of its class, which was late before and is late again. Neither was tried.
func (m *mailbox) olderIsOverdue(younger *message) bool {
	g := m.regime()
	if !younger.waitsForRules() || younger.doubt || younger.promised.IsZero() || younger.attempts > 0 ||
		g.exempt[younger.category] || younger.uncounted {
		return false
	}
	for _, known := range m.messages {
		gone := !m.now.Before(known.expiry(m.options.ExpireAfter)) || g.switchedOff(known.category) != ""
		if m.isLate(known) && !known.promised.IsZero() && known.notBefore.IsZero() && known.attempts == 0 && !known.uncounted &&
			!gone && !m.isHeld(known) && known != younger && byPromise(known, younger) < 0 && g.class(known.category) == g.class(younger.category) {
			return true
		}
	}
	return false
}

// candidates returns the late messages that are due, the oldest first. It leaves
// out exempt messages, those whose place does not count, and those that wait for one
// that is being sent, unless the message is the claimed one.
func (m *mailbox) candidates(claiming *message) []*message {
	var late []*message
	for _, known := range m.messages {
		if known == claiming || m.isJudged(known) && m.isLate(known) && !m.heldUp(known, claiming) {
			late = append(late, known)
		}
	}
	inOrder(late)
	return late
}

// isJudged reports whether the rules decide when a late message is sent.
func (m *mailbox) isJudged(known *message) bool {
	g := m.regime()
	unwanted := g.switchedOff(known.category) != ""
	return !g.exempt[known.category] && !known.uncounted && !unwanted
}

// isLate reports whether a message is late and waits for nothing else.
func (m *mailbox) isLate(known *message) bool { return m.isOverdue(known) && !m.isHeld(known) }

// isOverdue reports whether the message is late, also if its campaign is paused. One that may have
// arrived counts as sent.
func (m *mailbox) isOverdue(known *message) bool {
	waits := known.waitsForRules() && !known.doubt && !m.now.Before(known.due()) && !known.at.Before(m.options.DropDueBefore)
	return waits && known.at.Add(m.options.Tolerance).Before(m.now)
}

// carryOut gives late messages their planned places, after it drops those that get none. It
// reports whether the claimed message is among them.
func (m *mailbox) carryOut(plan []planned, claiming *message, nonce string, c *messages.Claim) bool {
	found, since := false, m.waitsSince(claiming)
	drops := slices.DeleteFunc(slices.Clone(plan), func(p planned) bool { return p.dropped == "" })
	places := slices.DeleteFunc(plan, func(p planned) bool { return p.dropped != "" })
	for _, p := range slices.Concat(drops, places) {
		known := p.message
		found = found || known == claiming
		switch {
		case known != claiming && p.dropped == "" && p.to == cut(known.at): // it keeps its place
		case p.wakes != 0 && known == claiming:
			m.waitUntil(known, nonce, p)
			c.Verdict = messages.Postponed
		case p.wakes != 0 && m.isOverdue(known): // it waits when it is claimed
		case p.wakes != 0:
			known.at = known.firstPromised()
		case p.dropped != "":
			m.dropLate(known, claiming, nonce, p.dropped, c)
		case known == claiming && p.to == cut(m.now):
			*c = m.sendLate(known, nonce, p.to, *c)
		default:
			_, behind := m.sendingAhead(known, claiming)
			late := m.isLate(known)
			m.postpone(known, nonce, p)
			if known != claiming && behind && late {
				known.waits = since // it has waited as long
			}
			c.Placed = append(c.Placed, known.placement())
			if known == claiming {
				known.addClaim(nonce)
				known.holder = "" // no delivery holds it
				c.Verdict = messages.Postponed
			}
		}
	}
	return found
}

// sendLate gives a late message to a delivery now.
func (m *mailbox) sendLate(known *message, nonce string, now int64, c messages.Claim) messages.Claim {
	known.postponeTo(moment(now), m.regime())
	c.TakenOver = known.state == sending
	m.claimMessage(known, nonce)
	known.note(change{letter: "p", at: m.now, to: known.at, from: known.stood, reasons: []string{"late"}})
	return m.send(known, c)
}

// postpone gives a late message another time and generation.
func (m *mailbox) postpone(known *message, nonce string, p planned) {
	known.goOn(m.now)
	known.postponeTo(moment(p.to), m.regime())
	known.note(change{letter: "p", at: m.now, to: known.at, from: known.stood, reasons: p.reasons})
	known.state, known.reason, known.reasons = pending, "", p.reasons
	known.renew(postponed(known.generation(), nonce), m.firstLook(moment(p.to)))
	m.note(known, events.Postponed, known.stood, "")
}

// waitUntil lets a late message wait at its place until a time, as other rules apply then or as it
// may have arrived.
func (m *mailbox) waitUntil(known *message, nonce string, p planned) {
	known.goOn(m.now)
	known.note(change{letter: "p", at: m.now, to: moment(p.wakes), from: known.at, reasons: p.reasons})
	known.doubt = known.doubt || known.state == sending
	known.state, known.reason, known.reasons = pending, "", p.reasons
	known.notBefore, known.waits = moment(p.wakes), time.Time{}
	known.renew(postponed(known.generation(), nonce), m.firstLook(known.notBefore))
	known.addClaim(nonce)
	known.holder = "" // no delivery holds it
	told := *known
	told.at = known.notBefore
	m.note(&told, events.Postponed, known.at, "")
}

// dropLate drops a late message.
func (m *mailbox) dropLate(known, claiming *message, nonce, reason string, c *messages.Claim) {
	known.endUnsent(reason, m.now)
	m.noteEnd(known, "")
	if known != claiming {
		c.Dropped = append(c.Dropped, messages.Drop{ID: known.id, Reason: known.reason, SendAt: known.at})
		return
	}
	known.addClaim(nonce)
	c.Verdict, c.SendAt, c.Reason = messages.Dropped, known.at, known.reason
}

// inTheWay returns the reasons for which no time in a span is allowed, as records
// spell them.
func (ts terms) inTheWay(tl timeline, s span) []string {
	var reasons []string
	for t := s.from; t < s.until; t = min(ts.nextEdge(tl, t, entering), ts.nextEdge(tl, t, leaving)) {
		if t < ts.disturbs {
			reasons = append(reasons, "late disturb")
		}
		if ts.quiet.covers(t) {
			reasons = append(reasons, "late quiet")
		}
		for _, v := range ts.violations(tl, t) {
			reasons = append(reasons, lateness(v))
		}
	}
	return reasons
}

// lateness spells a broken rule as a reason, like the scripts.
func lateness(v sendlimit.Violation) string {
	window := strconv.FormatInt(v.Rule.Window.Milliseconds(), 10)
	if v.Rule.Calendar() {
		window = map[calendar.Period]string{
			calendar.Minute: "-1", calendar.Hour: "-2", calendar.Day: "-3", calendar.Week: "-4", calendar.Month: "-5",
		}[v.Rule.Period]
	}
	return strings.TrimSpace(fmt.Sprintf("late %d %s %s", v.Rule.Limit, window, v.Category))
}
