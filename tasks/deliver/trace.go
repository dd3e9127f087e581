package deliver

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// givenBack is the outcome of a claimed message that was too late to be sent as claimed.
const givenBack = "given_back"

// claim claims a message. It also returns how long the reply took, and so how old it may be.
func (h *Handler) claim(ctx context.Context, d messages.Delivery) (messages.Claim, time.Duration, error) {
	sent := h.Clock.Local()
	claim, err := h.Gate.Claim(ctx, d, h.PushTimeout+h.Margin, time.Time{})
	received := h.Clock.Local()
	if err != nil {
		return claim, 0, err
	}
	h.Clock.OfUser(d.User).Learn(sent, received, claim.Now)
	return claim, received.Sub(sent), nil
}

// claimed describes a claim for its span. Its reply has just come.
func (h *Handler) claimed(d messages.Delivery, c messages.Claim, took time.Duration) tracing.Claimed {
	answered := h.Clock.Local()
	return tracing.Claimed{
		ID: d.ID, Reference: c.Trace, Category: c.Category, Attempt: c.Attempt, Late: h.lateness(d.User, c),
		TakenOver: c.TakenOver, Asked: answered.Add(-took), Answered: answered,
	}
}

// traceUnsent writes the span of a claim that ended or postponed a message.
func (h *Handler) traceUnsent(ctx context.Context, d messages.Delivery, c messages.Claim, took time.Duration) {
	switch c.Verdict {
	case messages.Dropped, messages.Postponed, messages.Reached:
		h.Tracer.Unsent(ctx, h.claimed(d, c, took), c.Verdict.String(), c.Reason)
	case messages.Send, messages.Stale, messages.Busy, messages.Early, messages.Paused, messages.OtherZone:
	}
}

// traceResult ends the span of a delivery with its result.
func (a *attempt) traceResult(ctx context.Context, s messages.Settlement, held bool, err error) {
	span := tracing.Of(ctx)
	if !span.Recording() {
		return
	}
	defer span.End()
	if err != nil || !held {
		span.Result("unsettled", "", true)
		return
	}
	failed := s.Outcome == messages.Failed || s.Outcome == messages.Uncertain || s.Outcome == messages.Retried && a.sent()
	span.Result(s.Outcome.String(), s.Reason, failed)
}

// notify calls the notifier for one recipient.
func (a *attempt) notify(ctx context.Context, to recipient, began time.Time) notifier.Result {
	ctx, span := tracing.Push(ctx, to.channel.Name, began)
	defer span.End()
	result := to.channel.Notifier.Notify(ctx, a.notification(to))
	if span.Recording() {
		span.Result(result.Status.String(), string(result.Reason), result.Status != notifier.Delivered)
	}
	return result
}
