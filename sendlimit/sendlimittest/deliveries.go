package sendlimittest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// The deliveries of CheckMessages: claims and settlements at a Gate.

// drawDelivery draws an attempt to deliver a message, mostly of its present
// generation. The worker is a new one (0), the last one that claimed the message
// (1) or the one before (2).
func (m *mailbox) drawDelivery(t *rapid.T, id string, workers ...int) messages.Delivery {
	d := messages.Delivery{User: mailboxUser, ID: id, Generation: "none", Nonce: m.newToken("n")}
	known := m.messages[id]
	if known == nil {
		return d
	}
	d.Generation, d.Paused = known.generation(), m.loadPaused(t)
	if rapid.IntRange(0, 5).Draw(t, "old task") == 5 {
		d.Generation = rapid.SampledFrom(known.generations).Draw(t, "generation")
	}
	worker := rapid.SampledFrom(workers).Draw(t, "worker")
	if worker > 0 && worker <= len(known.nonces) {
		d.Nonce = known.nonces[len(known.nonces)-worker]
	}
	return d
}

func (m *mailbox) claim(t *rapid.T) {
	id := m.drawKnown(t, func(known *message) bool { return known.isOpen() && !m.now.Before(known.due()) })
	m.claimAs(t, m.drawDelivery(t, id, 0, 0, 0, 0, 1, 2))
}

// claimAs compares the answer to a claim with the expected one.
func (m *mailbox) claimAs(t *rapid.T, d messages.Delivery) {
	known := m.messages[d.ID]
	repeated := known.postponedBy(d)
	want := m.expectClaim(d)
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.gate.Claim(t.Context(), d, m.lease, m.now)
		require.NoError(t, err)
		if repeated {
			want, got = asRepeated(want, d.ID), asRepeated(got, d.ID)
		}
		require.Equal(t, want, got, "%+v", d)
		repeated = true
	}
	if want.Verdict == messages.OtherZone && rapid.Bool().Draw(t, "read anew") {
		e := sendlimit.Edit{
			Of: sendlimit.Version{Generation: known.generation(), Changes: len(known.history)}, What: []string{sendlimit.EditZone}, Local: keptIn(m.regime().ownZone),
		}
		answer, _ := m.expectEdit(known, &e)
		got, err := m.timeline.Edit(t.Context(), sendlimit.EditRequest{User: mailboxUser, ID: d.ID, Edit: e, Now: m.now})
		require.NoError(t, err)
		require.Equal(t, answer, got)
	}
}

// isInOtherZone reports whether a message keeps its local time, which was read in another zone than the
// user's. One that may have arrived is not read anew, and one that is not sent anyway is dropped.
func (m *mailbox) isInOtherZone(known *message) bool {
	own, keeps := known.keepsLocal()
	g := m.regime()
	unwanted := g.blocked || known.category != "" && slices.Contains(g.optOut, known.category)
	return keeps && own != g.ownZone && known.state == pending && !known.doubt && !unwanted &&
		!known.at.Before(m.options.DropDueBefore) && m.now.Before(known.expiry(m.options.ExpireAfter))
}

// asRepeated removes what the reply to a repeated claim may lack: the former
// place of the message, that it was taken over, and the other messages that were
// placed. The watch list has those.
func asRepeated(c messages.Claim, id string) messages.Claim {
	var own []messages.Placement
	for _, p := range c.Placed {
		if p.ID == id {
			p.From = time.Time{}
			own = append(own, p)
		}
	}
	c.Placed, c.Dropped, c.TakenOver = own, nil, false
	return c
}

// expectClaim returns the expected answer to a claim and updates the model.
func (m *mailbox) expectClaim(d messages.Delivery) messages.Claim {
	known := m.messages[d.ID]
	c := messages.Claim{Verdict: messages.Stale, Now: m.now}
	if known == nil {
		return c
	}
	repeated := known.holder == d.Nonce
	switch {
	case known.postponedBy(d) && known.reason == messages.ReasonPaused:
		c.Verdict, c.Until = messages.Paused, known.notBefore
		return c
	case known.postponedBy(d) && !known.notBefore.IsZero():
		c.Verdict = messages.Postponed
		return c
	case known.postponedBy(d):
		c.Verdict, c.Placed = messages.Postponed, []messages.Placement{known.placement()}
		return c
	case known.generation() != d.Generation:
		return c
	case repeated && (known.state == dropped || known.state == uncertain):
		c.Verdict, c.SendAt, c.Reason = messages.Dropped, known.at, known.reason
		return c
	case repeated && known.stopped:
		c.Verdict, c.SendAt, c.Reason = messages.Reached, known.at, known.reason
		return c
	case !known.isOpen():
		return c
	case known.state == sending && repeated:
		return m.send(known, c)
	case known.state == sending && m.now.Before(known.leaseEnd):
		c.Verdict, c.Until = messages.Busy, known.leaseEnd
		return c
	case known.state == sending && known.grace.goesOn(m.now, m.options.SettleWithin):
		c.Verdict, c.Until, c.InGrace = messages.Busy, known.grace.next(m.options.SettleWithin), true
		return c
	case known.state == sending && (m.options.SkipUncertain || known.attempts >= m.options.Attempts):
		known.doubt = true
		if known.reached() {
			return m.stop(known, d.Nonce, reasonUncertain, c)
		}
		return m.drop(known, d.Nonce, reasonUncertain, c)
	case m.now.Before(known.due()):
		c.Verdict, c.Until = messages.Early, known.due()
		return c
	case known.reached():
		return m.expectOtherDevices(known, d, c)
	case m.isInOtherZone(known):
		c.Verdict = messages.OtherZone
		return c
	case known.at.Before(m.options.DropDueBefore):
		known.end(uncertain, reasonRestored, m.now)
		m.noteEnd(known, "")
		known.addClaim(d.Nonce)
		c.Verdict, c.SendAt, c.Reason = messages.Dropped, known.at, known.reason
		return c
	case !m.now.Before(known.expiry(m.options.ExpireAfter)):
		return m.drop(known, d.Nonce, reasonExpired, c)
	case m.isSwitchedOff(known):
		return m.drop(known, d.Nonce, m.regime().switchedOff(known.category), c)
	case m.isHeld(known):
		return m.hold(known, d, c)
	case m.now.After(known.at.Add(m.options.Tolerance)), m.olderIsOverdue(known), m.isHeldOff(known):
		return m.expectLateClaim(known, d.Nonce, c)
	}
	c.TakenOver = known.state == sending
	m.claimMessage(known, d.Nonce)
	return m.send(known, c)
}

// expectOtherDevices expects that a message which reached a device is sent to the others, at
// its place, or late at a free time before which nothing else has a place, or ends.
func (m *mailbox) expectOtherDevices(known *message, d messages.Delivery, c messages.Claim) messages.Claim {
	switch {
	case known.at.Before(m.options.DropDueBefore):
		return m.stop(known, d.Nonce, reasonRestored, c)
	case !m.now.Before(known.expiry(m.options.ExpireAfter)):
		return m.stop(known, d.Nonce, reasonExpired, c)
	case m.isSwitchedOff(known):
		return m.stop(known, d.Nonce, m.regime().switchedOff(known.category), c)
	case m.isHeld(known):
		return m.hold(known, d, c)
	case m.now.After(known.at.Add(m.options.Tolerance)), m.isHeldOff(known):
		if m.regime().exempt[known.category] || m.freeForRest(known) {
			return m.sendLate(known, d.Nonce, cut(m.now), c)
		}
		return m.stop(known, d.Nonce, reasonNoFreeTime, c)
	}
	c.TakenOver = known.state == sending
	m.claimMessage(known, d.Nonce)
	return m.send(known, c)
}

// isSwitchedOff reports whether a claim finds that the user does not want the message. A message of a
// paused campaign waits first, if the user has opted out of all.
func (m *mailbox) isSwitchedOff(known *message) bool {
	g := m.regime()
	byAll := !g.blocked && g.optedOutOfAll(known.category) && (known.category == "" || !slices.Contains(g.optOut, known.category))
	return g.switchedOff(known.category) != "" && !(byAll && m.isHeld(known))
}

// isHeldOff reports whether the user's settings hold a message that is on time: the user is not
// disturbed, or its place is in the user's own quiet hours.
func (m *mailbox) isHeldOff(known *message) bool {
	g := m.regime()
	return !g.exempt[known.category] && (cut(m.now) < g.disturbs || g.ownQuiet.covers(cut(known.at)))
}

// freeForRest reports whether a message that reached a device may go to the others now.
func (m *mailbox) freeForRest(known *message) bool {
	others, at, now := m.remembered().counted().remove(known.id), cut(known.at), cut(m.now)
	if at < now-m.model.remembered || slices.ContainsFunc(others, func(e entry) bool { return at < e.at && e.at <= now }) {
		return false
	}
	_, free := m.regime().termsOf(known.category).nextFree(others, now, now)
	return free
}

// drop ends the message of a claim.
func (m *mailbox) drop(known *message, nonce, reason string, c messages.Claim) messages.Claim {
	known.endUnsent(reason, m.now)
	m.noteEnd(known, "")
	known.addClaim(nonce)
	c.Verdict, c.SendAt, c.Reason = messages.Dropped, known.at, known.reason
	return c
}

// claimMessage gives a message to a delivery.
func (m *mailbox) claimMessage(known *message, nonce string) {
	known.addClaim(nonce)
	known.goOn(m.now)
	if known.state == sending {
		known.doubt = true
		known.note(change{letter: "o", at: m.now, attempt: known.attempts})
	}
	known.state, known.began, known.waits = sending, m.now, time.Time{}
	known.attempts++
	known.leaseEnd, known.grace = m.now.Add(m.lease), gracePeriod{}
	known.lookAt, known.far = known.leaseEnd, false
}

func (m *mailbox) send(known *message, c messages.Claim) messages.Claim {
	c.Verdict, c.SendAt, c.Promised, c.RequestedAt = messages.Send, known.at, known.promised, known.requested
	c.ExpiresAt = known.expiry(m.options.ExpireAfter)
	c.Attempt, c.Category, c.Content = known.attempts, known.category, []byte(known.content)
	c.Campaign, c.Devices, c.Progress = known.campaign, m.devices, known.progress
	if known.metadata != "" {
		c.Metadata = []byte(known.metadata)
	}
	c.Trace = known.trace
	return c
}

func (m *mailbox) settle(t *rapid.T) {
	id := m.drawKnown(t, func(known *message) bool {
		return known.state == sending || known.state == pending && len(known.nonces) > 0
	})
	d := m.drawDelivery(t, id, 0, 1, 1, 1, 2)
	m.settleAs(t, d, m.drawSettlement(t, m.messages[d.ID]))
}

// drawSettlement draws the outcome of a delivery of a message; nil for an unknown one.
func (m *mailbox) drawSettlement(t *rapid.T, known *message) messages.Settlement {
	s := messages.Settlement{Progress: m.drawProgress(t, known)}
	switch rapid.IntRange(0, 5).Draw(t, "outcome") {
	case 0:
		s.Outcome, s.ProviderID, s.Began = messages.Delivered, rapid.SampledFrom([]string{"p1", ""}).Draw(t, "provider's id"), m.now
		if known != nil && known.state == sending {
			s.Began = known.began
		}
	case 1:
		s.Outcome, s.Reason, s.Words = messages.Failed, "gone", "status 410"
	case 2:
		s.Outcome, s.Reason, s.Words = messages.Uncertain, "timeout", rapid.SampledFrom([]string{"", "no answer"}).Draw(t, "words")
	case 3:
		s.Outcome = messages.NoDevice
	default:
		s.Outcome, s.Reason, s.Retry = messages.Retried, "busy", m.drawRetry(t)
	}
	return s
}

// drawRetry draws when and why a delivery is tried again.
func (m *mailbox) drawRetry(t *rapid.T) messages.Retry {
	wait := rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Minute}).Draw(t, "wait")
	r := messages.Retry{Generation: m.newToken("g"), At: m.now.Add(wait), Uncertain: rapid.Bool().Draw(t, "no answer")}
	r.Unsent = !r.Uncertain && rapid.Bool().Draw(t, "not sent")
	if r.Unsent { // the store's clock may be ahead of the caller's for a moment
		r.At = m.now.Add(-wait)
	}
	r.Uncounted = !r.Uncertain && !r.Unsent && rapid.Bool().Draw(t, "not counted")
	return r
}

// settleAs compares the answer to a settlement with the expected one.
func (m *mailbox) settleAs(t *rapid.T, d messages.Delivery, s messages.Settlement) {
	want := m.expectSettlement(d, s)
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.gate.Settle(t.Context(), d, s, m.now)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v %+v", d, s)
	}
}

// expectSettlement returns the expected answer to a settlement and updates the
// model. Only the nonce matters: the relay may have renewed the generation
// meanwhile.
func (m *mailbox) expectSettlement(d messages.Delivery, s messages.Settlement) bool {
	known := m.messages[d.ID]
	if known == nil || known.holder != d.Nonce {
		return false
	}
	if known.state != sending {
		return true
	}
	known.proceed(s.Progress)
	doubt := known.doubt || !known.reached() && len(inStates(known.progress, messages.DeviceUncertain)) > 0
	reason := s.Reason
	if s.Outcome == messages.NoDevice {
		reason = reasonNoDevice
	}
	switch {
	case s.Outcome == messages.Delivered:
		known.end(delivered, "", s.Began)
		known.words = s.ProviderID
		m.noteEnd(known, s.ProviderID)
	case s.Outcome != messages.Retried && known.reached():
		known.end(delivered, reason, m.now)
		m.noteEnd(known, "")
	case s.Outcome == messages.NoDevice && !doubt:
		known.end(dropped, reason, m.now)
		m.noteEnd(known, "")
	case s.Outcome == messages.Failed && !doubt:
		known.end(failed, s.Reason, m.now)
		known.words = s.Words
		m.noteEnd(known, "")
	case s.Outcome != messages.Retried:
		known.end(uncertain, reason, m.now)
		known.words = s.Words
		m.noteEnd(known, "")
	default:
		known.state, known.reason, known.reasons = pending, s.Reason, nil
		var due time.Time
		if s.Retry.Unsent {
			known.attempts--
		} else {
			if due = s.Retry.At; due.After(known.expiry(m.options.ExpireAfter)) {
				due = known.expiry(m.options.ExpireAfter)
			}
			known.notBefore = due
			known.note(change{letter: "r", at: m.now, to: due, attempt: known.attempts, reasons: []string{s.Reason}})
			if s.Retry.Uncounted {
				known.attempts--
			}
		}
		known.doubt = doubt || s.Retry.Uncertain
		known.renew(s.Retry.Generation, m.lookAfter(s.Retry.At, due))
	}
	return true
}
