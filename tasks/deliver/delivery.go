package deliver

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// giveBack gives a claimed message back to be judged again: it was claimed in time, but
// the answer took so long, or was lost so often, that the message is now late.
func (h *Handler) giveBack(ctx context.Context, d messages.Delivery, leave func()) error {
	again, settlement := h.unsent(d)
	held, err := h.settle(ctx, d, settlement, leave)
	if err != nil || !held {
		return err
	}
	h.Timers.Set(ctx, again, again.Due)
	return nil
}

// send delivers a claimed message and settles the result. Nothing that may wait comes between
// the answer and the settlement: a worker that dies there makes the message arrive twice.
// It calls leave if the store does not take the result at once.
func (h *Handler) send(ctx context.Context, d messages.Delivery, claim messages.Claim, leave func()) error {
	began := h.Clock.Local()
	result, end := h.notify(ctx, d, claim)
	defer end()
	if pausesAll(result) {
		defer h.Pacer.pause(result.RetryAfter)(ctx)
	}
	took := h.Clock.Local().Sub(began)
	settlement, retry := h.settlementOf(d, claim, result)
	held, err := h.settle(ctx, d, settlement, leave)
	if settlement.Outcome != messages.Delivered {
		h.Logger.WarnContext(ctx, "a delivery failed", "reason", result.Reason, "attempt", claim.Attempt,
			"final", retry == nil, "error", result.Err)
	}
	if err != nil {
		return err
	}
	if !held {
		h.Logger.WarnContext(ctx, "a delivery was not recorded: its lease had run out and another worker took the message over,"+
			" or the message was erased meanwhile")
		return nil
	}
	switch settlement.Outcome {
	case messages.Delivered:
		late := claim.Now.Sub(promised(claim))
		h.Metrics.Delivered(late, took)
		h.Logger.DebugContext(ctx, "delivered", "id", d.ID, "attempt", claim.Attempt, "late", late, "took", took)
		h.Tally.Sent(claim.Account, claim.Now, late > h.Tolerance)
	case messages.Uncertain:
		h.Metrics.Uncertain()
		h.Tally.Failed(claim.Account, claim.Now)
	case messages.Failed, messages.Retried:
		h.Metrics.AttemptFailed(settlement.Reason, retry == nil)
		if retry == nil {
			h.Tally.Failed(claim.Account, claim.Now)
		}
	}
	if retry != nil {
		h.Timers.Set(ctx, *retry, h.Clock.Now())
	}
	return nil
}

// promised returns the time that was promised for a claimed message, the same at every
// attempt.
func promised(claim messages.Claim) time.Time {
	if claim.Promised.IsZero() {
		return claim.SendAt
	}
	return claim.Promised
}

// refusedWait is after how long a message comes again that the target refused together with
// all others.
const refusedWait = time.Minute

// pausesAll reports whether a result asks to leave the target alone.
func pausesAll(result notifier.Result) bool {
	return result.Status == notifier.Retry && result.Reason == notifier.ReasonRateLimited && result.RetryAfter > 0 ||
		result.Status == notifier.SlowDown && result.Pause == notifier.PauseChannel
}

// settlementOf returns what to record of a delivery, and what to enqueue if it is tried
// again, else nil.
func (h *Handler) settlementOf(
	d messages.Delivery, claim messages.Claim, result notifier.Result,
) (messages.Settlement, *messages.Queued) {
	if result.Status == notifier.Delivered {
		return messages.Settlement{Outcome: messages.Delivered, ProviderID: result.ProviderID, Began: claim.Now}, nil
	}
	s := messages.Settlement{Outcome: messages.Failed, Reason: string(result.Reason)}
	again := result.Status == notifier.Retry && claim.Attempt < h.Retries.Attempts
	switch {
	case result.Status == notifier.SlowDown:
		return h.later(d, s, max(result.RetryAfter, time.Millisecond), messages.Retry{Uncounted: true})
	case result.Status == notifier.Refused:
		return h.later(d, s, refusedWait, messages.Retry{Uncounted: true})
	case result.Uncertain() && (h.OnUncertain == SkipUncertain || !again):
		s.Outcome = messages.Uncertain
	case again:
		wait := h.Retries.Wait(claim.Attempt, result.RetryAfter)
		return h.later(d, s, wait, messages.Retry{Uncertain: result.Uncertain()})
	}
	return s, nil
}

// later completes the settlement of a delivery that is tried again after wait, and returns
// what to enqueue.
func (h *Handler) later(
	d messages.Delivery, s messages.Settlement, wait time.Duration, again messages.Retry,
) (messages.Settlement, *messages.Queued) {
	retry := &messages.Queued{
		User: d.User, ID: d.ID, Generation: keyspace.NewToken(), Due: h.Clock.Now().Add(wait).Truncate(time.Millisecond),
	}
	again.Generation, again.At = retry.Generation, retry.Due
	s.Outcome, s.Retry = messages.Retried, again
	return s, retry
}

// notify hands a claimed message to the notifier. It also returns what to call once the result
// is stored.
func (h *Handler) notify(
	ctx context.Context, d messages.Delivery, claim messages.Claim,
) (result notifier.Result, end func()) {
	c, err := message.DecodeContent(claim.Content)
	if err != nil {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: err}, func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, h.PushTimeout)
	ctx, clean := notifier.WithCleanup(ctx)
	result = h.Notifier.Notify(ctx, notifier.Notification{
		ID: d.ID, User: d.User, Category: claim.Category,
		Title: c.Title, Body: c.Body, Data: c.Data,
		Image: c.Image, ClickURL: c.ClickURL, Badge: c.Badge, Sound: c.Sound,
		Priority: notifier.Priority(c.Priority), CollapseKey: c.CollapseKey,
		Campaign: claim.Campaign, Metadata: message.DecodeMetadata(claim.Metadata),
		SendAt: promised(claim), RequestedAt: claim.RequestedAt, Attempt: claim.Attempt,
		IdempotencyKey: notifier.IdempotencyKey(claim.Account, d.User, d.ID),
	})
	return result, func() {
		defer cancel()
		clean()
	}
}

// settle records the result of a delivery and tries until it is stored, as the message
// would be sent again otherwise. It reports false if the lease ran out meanwhile: the
// worker that took the message over settles it. It calls leave after a first try in vain:
// then the delivery is over, and only its result is kept.
func (h *Handler) settle(ctx context.Context, d messages.Delivery, s messages.Settlement, leave func()) (bool, error) {
	failed := func(ctx context.Context, err error) {
		leave()
		h.Logger.WarnContext(ctx, "could not settle a delivery: trying until it is stored", "error", err)
	}
	return persist.Settle(ctx, h.Ended, failed, func(ctx context.Context) (bool, error) {
		return h.Gate.Settle(ctx, d, s, time.Time{})
	})
}

// OnUncertain decides about a message that may or may not have arrived: the worker died
// in the middle of the delivery, or the provider gave no answer.
type OnUncertain string

// The answers to an uncertain delivery.
const (
	ResendUncertain OnUncertain = "resend" // it may arrive twice
	SkipUncertain   OnUncertain = "skip"   // it may be lost
)
