package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// handler takes a task from the queue to its end: it waits for the task's
// time, claims the message, delivers it, and settles what became of it.
type handler struct {
	rules       *rules
	queue       *queue
	confirmer   *confirmer
	clock       *clock
	notifier    notifier.Notifier
	retries     RetryPolicy
	pushTimeout time.Duration
	slots       chan struct{} // one a delivery that runs
	stopping    chan struct{} // closed when no new work is to begin
	logger      *slog.Logger
}

// settleMargin is how much longer than a delivery may take its lease lasts.
const settleMargin = 10 * time.Second

// againError sends a task back to the queue to come again after a while. It is
// not a failure and uses up no retry.
type againError struct {
	after time.Duration
	cause error
}

func (e *againError) Error() string { return fmt.Sprintf("again in %s: %v", e.after, e.cause) }
func (e *againError) Unwrap() error { return e.cause }

var (
	errStopping = errors.New("this worker stops")
	errBusy     = errors.New("another worker is delivering the message")
	errNewer    = errors.New("a newer program wrote the task")
)

// newerAfter is when a task that a newer program wrote comes again: to it, with
// luck.
const newerAfter = 5 * time.Second

// ProcessTask handles one task. It returns an error only where the task has to
// come again: the store failed, another delivery runs, or the worker stops.
func (h *handler) ProcessTask(ctx context.Context, t *asynq.Task) error {
	p, err := decodePayload(t.Payload())
	if err != nil {
		h.logger.ErrorContext(ctx, "dropped a task that is not ours", "error", err)
		return nil
	}
	if p.Version > payloadVersion {
		return &againError{after: newerAfter, cause: errNewer}
	}
	if !h.clock.wait(ctx, h.stopping, p.due()) {
		return h.stopped(ctx, p.due())
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-h.stopping:
		return h.stopped(ctx, p.due())
	case <-ctx.Done():
		return h.stopped(ctx, p.due())
	}
	return h.deliver(ctx, sendlimit.Delivery{
		User: p.User, ID: p.ID, Generation: p.Generation, Nonce: sendlimit.NewGeneration(),
	})
}

func (h *handler) stopped(ctx context.Context, due time.Time) error {
	cause := errStopping
	if err := context.Cause(ctx); err != nil {
		cause = err
	}
	return &againError{after: max(0, due.Sub(h.clock.now())), cause: cause}
}

// deliver claims a message that is due, sends it and settles.
func (h *handler) deliver(ctx context.Context, d sendlimit.Delivery) error {
	l, err := h.rules.limiters(ctx)
	if err != nil {
		return err
	}
	for {
		claim, err := h.claim(ctx, l.gate, d)
		if err != nil {
			return err
		}
		switch claim.Verdict {
		case sendlimit.Early:
			// What is still missing is told by the store's own clock.
			if !sleep(ctx, h.stopping, claim.Until.Sub(claim.Now)) {
				return h.stopped(ctx, claim.Until)
			}
			continue
		case sendlimit.Busy:
			return &againError{after: claim.Until.Sub(claim.Now), cause: errBusy}
		case sendlimit.Stale:
			h.logger.DebugContext(ctx, "a task is stale", "id", d.ID)
			return nil
		case sendlimit.Lapsed:
			h.logger.WarnContext(ctx, "dropped a message that outlived its expiry", "late", claim.Now.Sub(claim.SendAt))
			return nil
		case sendlimit.Send:
			return h.send(ctx, l.gate, d, claim)
		default:
			return fmt.Errorf("verdict %s: %w", claim.Verdict, sendlimit.ErrReply)
		}
	}
}

func (h *handler) claim(ctx context.Context, gate *sendlimit.Gate, d sendlimit.Delivery) (sendlimit.Claim, error) {
	sent := h.clock.local()
	claim, err := gate.Claim(ctx, d, h.pushTimeout+settleMargin, time.Time{})
	if err != nil {
		return claim, err
	}
	h.clock.learn(sent, h.clock.local(), claim.Now)
	return claim, nil
}

// send delivers a claimed message. Once claimed it is seen through, whatever
// becomes of the task.
func (h *handler) send(ctx context.Context, gate *sendlimit.Gate, d sendlimit.Delivery, claim sendlimit.Claim) error {
	ctx = context.WithoutCancel(ctx)
	result := h.notify(ctx, d, claim)
	settlement := sendlimit.Settlement{Delivered: result.Status == notifier.Delivered, ProviderID: result.ProviderID}
	var retry *sendlimit.Queued
	if !settlement.Delivered {
		settlement.Reason = string(result.Reason)
		if result.Status == notifier.Retry && claim.Attempt < h.retries.Attempts {
			retry = &sendlimit.Queued{
				User: d.User, ID: d.ID, Generation: sendlimit.NewGeneration(),
				Due: h.clock.now().Add(h.retries.wait(claim.Attempt, result.RetryAfter)).Truncate(time.Millisecond),
			}
			settlement.Retry = &sendlimit.Retry{Generation: retry.Generation, At: retry.Due}
		} else {
			settlement.Failed = true
		}
		h.logger.WarnContext(ctx, "a delivery failed", "reason", result.Reason, "attempt", claim.Attempt,
			"final", settlement.Failed, "error", result.Err)
	}
	held, err := h.settle(ctx, gate, d, settlement)
	if err != nil {
		return err
	}
	if !held {
		h.logger.WarnContext(ctx, "a delivery took longer than its lease: another took the message over")
		return nil
	}
	if retry != nil {
		h.handOver(ctx, *retry)
	}
	return nil
}

func (h *handler) handOver(ctx context.Context, q sendlimit.Queued) {
	if err := h.queue.enqueue(ctx, q); err != nil {
		h.logger.WarnContext(ctx, "the queue did not take a retry: the watch list has it", "error", err)
		return
	}
	h.confirmer.add(q)
}

func (h *handler) notify(ctx context.Context, d sendlimit.Delivery, claim sendlimit.Claim) notifier.Result {
	c, err := decodeContent(claim.Content)
	if err != nil {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, h.pushTimeout)
	defer cancel()
	return h.notifier.Notify(ctx, notifier.Notification{
		ID: d.ID, User: d.User, Category: claim.Category,
		Title: c.Title, Body: c.Body, Data: c.Data,
		SendAt: claim.SendAt, RequestedAt: claim.RequestedAt, Attempt: claim.Attempt,
		IdempotencyKey: notifier.IdempotencyKey(d.User, d.ID),
	})
}

const (
	settleWithin = 2 * time.Second        // one try
	settlePause  = 200 * time.Millisecond // between two
)

// settle records what became of a delivery, and tries until that is stored or
// the lease is over, when the message's fate is open anyway.
func (h *handler) settle(ctx context.Context, gate *sendlimit.Gate, d sendlimit.Delivery, s sendlimit.Settlement) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, settleMargin)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, settleWithin)
		held, err := gate.Settle(try, d, s, time.Time{})
		done()
		if err == nil || !sleep(ctx, nil, settlePause) {
			return held, err
		}
		h.logger.WarnContext(ctx, "could not settle a delivery: trying again", "error", err)
	}
}
