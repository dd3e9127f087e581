package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// giveBack lets a message be judged again that was claimed in time, but whose
// answer took so long, or got lost so often, that it is late by now.
func (h *handler) giveBack(ctx context.Context, gate *messages.Gate, d messages.Delivery) error {
	again, settlement := h.unsent(d)
	held, err := h.settle(ctx, gate, d, settlement)
	if err != nil || !held {
		return err
	}
	h.handOver(ctx, again)
	return nil
}

// send delivers a claimed message, and settles.
func (h *handler) send(ctx context.Context, gate *messages.Gate, d messages.Delivery, claim messages.Claim) error {
	began := h.clock.local()
	result := h.notify(ctx, d, claim)
	if result.Reason == notifier.ReasonRateLimited && result.RetryAfter > 0 {
		defer h.pacer.pause(result.RetryAfter)(ctx)
	}
	took := h.clock.local().Sub(began)
	settlement, retry := h.settlementOf(d, claim, result)
	if !settlement.Delivered {
		h.logger.WarnContext(ctx, "a delivery failed", "reason", result.Reason, "attempt", claim.Attempt,
			"final", retry == nil, "error", result.Err)
	}
	held, err := h.settle(ctx, gate, d, settlement)
	if err != nil {
		return err
	}
	if !held {
		h.logger.WarnContext(ctx, "a delivery was not recorded: its lease had run out and another worker took the message over,"+
			" or the message was erased meanwhile")
		return nil
	}
	switch {
	case settlement.Delivered:
		late := claim.Now.Sub(promised(claim))
		h.metrics.delivered(late, took)
		h.tally.sent(claim.Account, claim.Now, late > h.tolerance)
	case settlement.Uncertain:
		h.metrics.uncertain()
	default:
		h.metrics.attemptFailed(settlement.Reason, retry == nil)
		if retry == nil {
			h.tally.dropped(claim.Account, claim.Now)
		}
	}
	if retry != nil {
		h.handOver(ctx, *retry)
	}
	return nil
}

// promised is the time that a claimed message was to be sent at, however late
// it is: the same at every attempt.
func promised(claim messages.Claim) time.Time {
	if claim.Promised.IsZero() {
		return claim.SendAt
	}
	return claim.Promised
}

// settlementOf says what to record of a delivery; of one to be tried again
// also what to hand to the queue.
func (h *handler) settlementOf(
	d messages.Delivery, claim messages.Claim, result notifier.Result,
) (messages.Settlement, *messages.Queued) {
	if result.Status == notifier.Delivered {
		return messages.Settlement{Delivered: true, ProviderID: result.ProviderID, Began: claim.Now}, nil
	}
	s := messages.Settlement{Reason: string(result.Reason)}
	again := result.Status == notifier.Retry && claim.Attempt < h.retries.Attempts
	switch {
	case result.Uncertain() && (h.onUncertain == SkipUncertain || !again):
		s.Uncertain = true
	case again:
		retry := &messages.Queued{
			User: d.User, ID: d.ID, Generation: keyspace.NewGeneration(),
			Due: h.clock.now().Add(h.retries.wait(claim.Attempt, result.RetryAfter)).Truncate(time.Millisecond),
		}
		s.Retry = &messages.Retry{Generation: retry.Generation, At: retry.Due, Uncertain: result.Uncertain()}
		return s, retry
	default:
		s.Failed = true
	}
	return s, nil
}

func (h *handler) handOver(ctx context.Context, q messages.Queued) {
	if err := h.queue.enqueue(ctx, q); err != nil {
		h.logger.WarnContext(ctx, "the queue did not take a message that is to be sent later: the watch list has it", "error", err)
		return
	}
	h.confirmer.add(q)
}

func (h *handler) notify(ctx context.Context, d messages.Delivery, claim messages.Claim) notifier.Result {
	c, err := decodeContent(claim.Content)
	if err != nil {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, h.pushTimeout)
	defer cancel()
	return h.notifier.Notify(ctx, notifier.Notification{
		ID: d.ID, User: d.User, Category: claim.Category,
		Title: c.Title, Body: c.Body, Data: c.Data,
		SendAt: promised(claim), RequestedAt: claim.RequestedAt, Attempt: claim.Attempt,
		IdempotencyKey: notifier.IdempotencyKey(claim.Account, d.User, d.ID),
	})
}

// settleWithin bounds one try to settle.
const settleWithin = 2 * time.Second

// settle records what became of a delivery, and tries until that is stored:
// without it the message would be sent again. It gives up only when the worker
// no longer waits for it. Where the lease ran out meanwhile, whoever took the
// message over settles it.
func (h *handler) settle(ctx context.Context, gate *messages.Gate, d messages.Delivery, s messages.Settlement) (bool, error) {
	for failed := false; ; failed = true {
		try, done := context.WithTimeout(ctx, settleWithin)
		held, err := gate.Settle(try, d, s, time.Time{})
		done()
		if _, away := errors.AsType[*fault.UnavailableError](err); !away {
			return held, err
		}
		if !failed {
			h.logger.WarnContext(ctx, "could not settle a delivery: trying until it is stored", "error", err)
		}
		if !sleep(ctx, h.ended, storePause) {
			return false, err
		}
	}
}
