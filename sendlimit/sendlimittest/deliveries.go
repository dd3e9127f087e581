package sendlimittest

import (
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// The deliveries of CheckMessages: what a Gate says and stores.

// delivery names a try to deliver a message: mostly of its present
// generation, and by who has it already or by another.
func (m *mailbox) delivery(t *rapid.T) sendlimit.Delivery {
	d := sendlimit.Delivery{User: mailboxUser, ID: m.id(t), Generation: "none", Nonce: m.token("n")}
	if known := m.messages[d.ID]; known != nil {
		d.Generation = known.generation()
		if rapid.IntRange(0, 3).Draw(t, "old task") == 0 {
			d.Generation = rapid.SampledFrom(known.generations).Draw(t, "generation")
		}
		if known.nonce != "" && rapid.Bool().Draw(t, "who has it") {
			d.Nonce = known.nonce
		}
	}
	return d
}

func (m *mailbox) claim(t *rapid.T) {
	d := m.delivery(t)
	want := m.verdict(d)
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.gate.Claim(t.Context(), d, holdFor, m.now)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", d)
	}
}

// verdict says what a claim should get, and keeps account of it.
func (m *mailbox) verdict(d sendlimit.Delivery) sendlimit.Claim {
	known := m.messages[d.ID]
	c := sendlimit.Claim{Verdict: sendlimit.Stale, Now: m.now}
	if known == nil || known.generation() != d.Generation {
		return c
	}
	switch {
	case known.state == expired && known.nonce == d.Nonce:
		c.Verdict, c.SendAt = sendlimit.Lapsed, known.at
		return c
	case known.ended():
		return c
	case known.state == sending && known.nonce == d.Nonce:
		return m.send(known)
	case known.state == sending && m.now.Before(known.leaseEnd):
		c.Verdict, c.Until = sendlimit.Busy, known.leaseEnd
		return c
	}
	due := known.at
	if !known.notBefore.IsZero() {
		due = known.notBefore
	}
	switch {
	case m.now.Before(due):
		c.Verdict, c.Until = sendlimit.Early, due
		return c
	case !m.now.Before(known.expiry()):
		c.Verdict, c.SendAt = sendlimit.Lapsed, known.at
		known.nonce = d.Nonce
		m.end(d.ID, expired)
		return c
	}
	known.state, known.nonce = sending, d.Nonce
	known.attempts++
	known.leaseEnd = m.now.Add(holdFor)
	known.lookAt = known.leaseEnd
	return m.send(known)
}

func (m *mailbox) send(known *message) sendlimit.Claim {
	return sendlimit.Claim{
		Verdict: sendlimit.Send, SendAt: known.at, RequestedAt: known.requested,
		Attempt: known.attempts, Content: []byte(known.content), Now: m.now,
	}
}

func (m *mailbox) settle(t *rapid.T) {
	d := m.delivery(t)
	s := sendlimit.Settlement{}
	switch rapid.IntRange(0, 2).Draw(t, "outcome") {
	case 0:
		s.Delivered, s.ProviderID = true, "p1"
	case 1:
		s.Failed, s.Reason = true, "gone"
	default:
		wait := rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Minute}).Draw(t, "wait")
		s.Retry, s.Reason = &sendlimit.Retry{Generation: m.token("g"), At: m.now.Add(wait)}, "busy"
	}
	want := m.account(d, s)
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.gate.Settle(t.Context(), d, s, m.now)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v %+v", d, s)
	}
}

// account says whether a settlement should count, and keeps account of it.
func (m *mailbox) account(d sendlimit.Delivery, s sendlimit.Settlement) bool {
	known := m.messages[d.ID]
	if known == nil || known.nonce != d.Nonce {
		return false
	}
	if known.state != sending {
		return true
	}
	if known.generation() != d.Generation {
		return false
	}
	switch {
	case s.Delivered:
		known.state = delivered
	case s.Failed:
		m.end(d.ID, failed)
	default:
		known.state, known.notBefore = pending, s.Retry.At
		known.generations = append(known.generations, s.Retry.Generation)
		known.lookAt = m.now.Add(watchDelay)
	}
	return true
}

func (m *mailbox) confirm(t *rapid.T) {
	id := m.id(t)
	known := m.messages[id]
	if known == nil {
		return
	}
	q := sendlimit.Queued{
		User: mailboxUser, ID: id, Due: known.at,
		Generation: rapid.SampledFrom(known.generations).Draw(t, "generation"),
	}
	require.NoError(t, m.watch.Confirm(t.Context(), []sendlimit.Queued{q}))
	if !known.ended() && q.Generation == known.generation() {
		known.lookAt = q.Due.Add(overdue)
	}
}
