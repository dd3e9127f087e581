package sendlimittest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/notices"
)

// noticeWorker is a worker that has claimed a notice at least once.
type noticeWorker struct {
	id, nonce string
	mustSend  bool // its claim was answered with Send
	announced bool // the mail server has accepted the notice
	settled   *notices.Settlement
}

const noticeLease = 30 * time.Second

// claim makes a new worker claim an alert, or a live one claim again.
func (o *noticeBox) claim(t *rapid.T) {
	w := &noticeWorker{id: o.drawID(t), nonce: o.newToken()}
	if len(o.workers) > 0 && rapid.Bool().Draw(t, "again") {
		w = rapid.SampledFrom(o.workers).Draw(t, "worker")
		if w.announced {
			return // it would only settle
		}
	} else {
		o.workers = append(o.workers, w)
	}
	want := o.expectClaim(w)
	got, err := o.outbox.Claim(t.Context(), w.id, w.nonce, noticeLease, o.now)
	require.NoError(t, err)
	require.Equal(t, want, got)
	w.mustSend = got.Verdict == notices.Send
}

// expectClaim returns the expected answer to a claim and updates the model.
func (o *noticeBox) expectClaim(w *noticeWorker) notices.Claim {
	c := notices.Claim{Verdict: notices.Stale, Now: o.now}
	n := o.known[w.id]
	switch {
	case n == nil:
	case n.state == noticePending && n.nonce != w.nonce && o.now.Before(n.notBefore):
		c.Verdict, c.Until = notices.Early, n.notBefore
	case n.state == noticePending && n.nonce != w.nonce:
		n.tries++
		return o.grant(n, w, false)
	case n.state == noticeSending && n.nonce == w.nonce:
		return o.grant(n, w, false)
	case n.state == noticeSending && o.now.Before(n.leaseEnd):
		c.Verdict, c.Until = notices.Busy, n.leaseEnd
	case n.state == noticeSending && n.grace.goesOn(o.now, o.options.SettleWithin):
		c.Verdict, c.Until, c.InGrace = notices.Busy, n.grace.next(o.options.SettleWithin), true
	case n.state == noticeSending && n.unsettled+1 >= o.options.Attempts:
		o.countDoubts(n)
		n.nonce = w.nonce
		n.end(noticeFailed, notices.ReasonUncertain, o.now)
		c.Verdict, c.Reason, c.Failed = notices.Dropped, notices.ReasonUncertain, true
	case n.state == noticeSending:
		o.countDoubts(n)
		n.tries++
		n.unsettled++
		return o.grant(n, w, true)
	case (n.state == noticeFailed || n.state == noticeDropped) && n.nonce == w.nonce:
		c.Verdict, c.Reason, c.Failed = notices.Dropped, n.reason, n.state == noticeFailed
	}
	return c
}

// countDoubts counts workers that announced a notice, did not settle in time,
// and now lose it to another worker.
func (o *noticeBox) countDoubts(n *noticeModel) {
	for _, w := range o.workers {
		if w.id == n.id && w.nonce == n.nonce && w.announced {
			n.doubts++
		}
	}
}

// grant gives a notice to a worker and returns the answer to its claim.
func (o *noticeBox) grant(n *noticeModel, w *noticeWorker, takenOver bool) notices.Claim {
	if n.first.IsZero() {
		n.first = o.now
	}
	n.state, n.nonce, n.leaseEnd, n.look = noticeSending, w.nonce, o.now.Add(noticeLease), o.now.Add(noticeLease)
	n.grace = gracePeriod{}
	notice, _ := notices.ParseID(n.id)
	notice.Details = []byte(n.details)
	return notices.Claim{
		Verdict: notices.Send, Notice: notice, Attempt: n.tries, First: n.first, FirstFailed: n.failed,
		TakenOver: takenOver, Now: o.now,
	}
}

func (n *noticeModel) end(state noticeState, reason string, now time.Time) {
	n.state, n.reason, n.ended, n.notBefore = state, reason, now, time.Time{}
	if state != noticeFailed {
		n.details = ""
	}
}

// announce makes a worker announce its notice within the lease.
func (o *noticeBox) announce(t *rapid.T) {
	for _, w := range o.workers {
		n := o.known[w.id]
		if w.mustSend && !w.announced && w.settled == nil && n.nonce == w.nonce && o.now.Before(n.leaseEnd) {
			w.announced = true
			n.announced++
			require.LessOrEqual(t, n.announced, 1+n.doubts, "%s was told once more than a worker died over it", n.id)
			return
		}
	}
}

// settle makes a worker that had to send report the outcome, perhaps again.
func (o *noticeBox) settle(t *rapid.T) {
	var holding []*noticeWorker
	for _, w := range o.workers {
		if w.mustSend {
			holding = append(holding, w)
		}
	}
	if len(holding) == 0 {
		return
	}
	w := rapid.SampledFrom(holding).Draw(t, "worker")
	if w.settled == nil {
		w.settled = o.drawOutcome(t, w)
	}
	want := o.expectSettlement(w)
	got, err := o.outbox.Settle(t.Context(), w.id, w.nonce, *w.settled, o.now)
	require.NoError(t, err)
	require.Equal(t, want, got, "%+v", *w.settled)
}

// drawOutcome draws the outcome that a worker reports. It reports what it
// announced as delivered, and nothing else.
func (o *noticeBox) drawOutcome(t *rapid.T, w *noticeWorker) *notices.Settlement {
	if w.announced {
		return &notices.Settlement{Outcome: notices.Delivered, ProviderID: "mail-1"}
	}
	again := o.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "again in"))
	return rapid.SampledFrom([]*notices.Settlement{
		{Outcome: notices.Failed, Reason: "rejected"},
		{Outcome: notices.Discarded, Reason: "no_contact"},
		{Outcome: notices.Retried, RetryAt: again, Reason: "unavailable"},
		{Outcome: notices.Retried, RetryAt: again, Reason: "no_channel", Unsent: true},
	}).Draw(t, "outcome")
}

// expectSettlement returns the expected answer to a settlement and updates the
// model.
func (o *noticeBox) expectSettlement(w *noticeWorker) bool {
	n := o.known[w.id]
	if n.nonce != w.nonce {
		return false
	}
	if n.state != noticeSending {
		return true
	}
	switch s := w.settled; s.Outcome {
	case notices.Delivered:
		n.end(noticeDelivered, s.ProviderID, o.now)
	case notices.Failed:
		n.end(noticeFailed, s.Reason, o.now)
	case notices.Discarded:
		n.end(noticeDropped, s.Reason, o.now)
	default:
		n.state, n.notBefore, n.look = noticePending, s.RetryAt, s.RetryAt.Add(o.options.OverdueAfter)
		if s.Unsent {
			n.tries--
		} else if n.failed.IsZero() {
			n.failed = o.now
		}
	}
	return true
}

// die removes a worker.
func (o *noticeBox) die(t *rapid.T) {
	if len(o.workers) == 0 {
		return
	}
	i := rapid.IntRange(0, len(o.workers)-1).Draw(t, "worker")
	w := o.workers[i]
	if n := o.known[w.id]; w.announced && n.nonce == w.nonce && n.state == noticeSending {
		n.doubts++
	}
	o.workers = slices.Delete(o.workers, i, i+1)
}
