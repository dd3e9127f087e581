package deliver

import (
	"cmp"
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
)

// giveBack gives a claimed message back to be judged again: the reply to its claim took so long that
// the message is late now.
func (h *Handler) giveBack(ctx context.Context, d messages.Delivery, leave func()) error {
	again, settlement := h.unsent(d)
	held, err := h.settle(ctx, d, settlement, leave)
	if err != nil || !held {
		return err
	}
	h.Timers.Set(ctx, again, again.Due)
	return nil
}

// send delivers a claimed message, which is late by a duration, and settles the result. Nothing
// waits between the answers and the settlement: if the worker died there, the message would arrive
// twice. It calls leave if the store does not accept the result at the first try.
func (h *Handler) send(
	ctx context.Context, d messages.Delivery, claim messages.Claim, permit permit, late time.Duration, leave func(),
) error {
	a := &attempt{h: h, d: d, claim: claim, began: h.Clock.Local(), late: late, permit: permit}
	settlement, retry := a.deliver(ctx)
	a.later(func(ctx context.Context) { h.Pacer.giveBack(ctx, a.permit) })
	defer a.finish(ctx)
	took := h.Clock.Local().Sub(a.began)
	held, err := h.settle(ctx, d, settlement, leave)
	a.traceResult(ctx, settlement, held, err)
	a.log(ctx, settlement, retry)
	if err != nil {
		return err
	}
	if !held {
		h.Logger.WarnContext(ctx, "a delivery was not recorded: its lease had run out and another worker took the message over,"+
			" or the message was erased meanwhile", "id", d.ID)
		return nil
	}
	a.tally(ctx, settlement, retry == nil, took)
	if retry != nil {
		h.Timers.Set(ctx, *retry, h.Clock.OfUser(d.User).Now())
	}
	return nil
}

// deliver asks the providers, and returns the settlement and the next timer.
func (a *attempt) deliver(ctx context.Context) (messages.Settlement, *sendlimit.Timer) {
	var err error
	if a.content, err = message.DecodeContent(a.claim.Content); err != nil {
		a.h.Logger.WarnContext(ctx, "a message can't be read", "id", a.d.ID, "error", err)
		return messages.Settlement{Outcome: messages.Failed, Reason: string(notifier.ReasonRejected)}, nil
	}
	to, err := a.h.recipients(ctx, a.claim, a.content.To)
	if err != nil {
		a.h.Logger.WarnContext(ctx, "the devices of a user can't be read: a message waits", "id", a.d.ID, "error", err)
		return a.tryAgain(messages.Settlement{Reason: string(notifier.ReasonUnavailable)}, refusedWait, messages.Retry{Uncounted: true})
	}
	a.run(ctx, to)
	a.judge()
	return a.settlement()
}

// log logs the failures.
func (a *attempt) log(ctx context.Context, s messages.Settlement, retry *sendlimit.Timer) {
	if s.Outcome == messages.NoDevice {
		a.h.Logger.InfoContext(ctx, "dropped a message: its user has no device for it", "reason", messages.ReasonNoDevice, "id", a.d.ID)
	}
	for _, to := range a.answers {
		if to.sent && to.state != messages.DeviceDelivered {
			a.h.Logger.WarnContext(ctx, "a delivery failed", "channel", to.channel.Name, "reason", to.result.Reason,
				"id", a.d.ID, "attempt", a.claim.Attempt, "final", retry == nil, "error", to.result.Err)
		}
	}
}

// tally counts a recorded attempt.
func (a *attempt) tally(ctx context.Context, s messages.Settlement, final bool, took time.Duration) {
	h, claim := a.h, a.claim
	switch s.Outcome {
	case messages.Delivered:
		late := h.lateness(a.d.User, claim)
		h.Metrics.Delivered(late, took)
		h.Logger.DebugContext(ctx, "delivered", "id", a.d.ID, "attempt", claim.Attempt, "late", late, "took", took)
		h.Activity.Delivered(claim.Account, claim.Now, late, late > h.Tolerance)
	case messages.Uncertain:
		h.Metrics.Uncertain()
		h.Activity.Failed(claim.Account, claim.Now, messages.ReasonUncertain)
	case messages.NoDevice:
		h.Metrics.Dropped(messages.ReasonNoDevice)
		h.Activity.Dropped(claim.Account, claim.Now, messages.ReasonNoDevice)
	case messages.Failed, messages.Retried:
		if final || a.sent() {
			h.Metrics.AttemptFailed(s.Reason, final)
		}
		if final {
			h.Activity.Failed(claim.Account, claim.Now, s.Reason)
		}
	}
}

// promised returns the promised time of a claimed message, the same at every attempt.
func promised(claim messages.Claim) time.Time { return cmp.Or(claim.Promised, claim.SendAt) }

// lateness returns how late a message is that is claimed now. By the store's clock a message is on time
// after a step back, so the step counts too.
func (h *Handler) lateness(user string, claim messages.Claim) time.Duration {
	return claim.Now.Sub(promised(claim)) + h.Clock.OfUser(user).FellBehind().By
}

// refusedWait is the shortest wait of a message after its channel was stopped.
const refusedWait = time.Minute

// slowedDown returns a result, as a SlowDown of its channel if the target refused the call because there
// were too many. It pauses for a second if it does not say for how long: the learned rate does the
// rest.
func slowedDown(r notifier.Result) notifier.Result {
	if r.Status == notifier.Retry && r.Reason == notifier.ReasonRateLimited {
		r.Status, r.Pause, r.RetryAfter = notifier.SlowDown, notifier.PauseChannel, cmp.Or(r.RetryAfter, time.Second)
	}
	return r
}

// settle stores the result of a delivery, and repeats that until it succeeds: the message
// would be sent again otherwise. It reports false if the lease ran out meanwhile: the
// worker that took the message over settles it. It calls leave after the first failure: from then
// on only the result is kept.
func (h *Handler) settle(ctx context.Context, d messages.Delivery, s messages.Settlement, leave func()) (bool, error) {
	ctx, span := h.Tracer.Settle(ctx)
	defer span.End()
	failed := func(ctx context.Context, err error) {
		leave()
		h.Logger.WarnContext(ctx, "could not settle a delivery: trying until it is stored", "id", d.ID, "error", err)
	}
	return persist.Settle(ctx, h.Ended, failed, func(ctx context.Context) (bool, error) {
		return h.Gate.Settle(ctx, d, s, time.Time{})
	})
}

// OnUncertain decides about a message that may or may not have arrived: the worker died
// during the delivery, or the provider gave no answer.
type OnUncertain string

// What to do with such a message.
const (
	ResendUncertain OnUncertain = "resend" // it may arrive twice
	SkipUncertain   OnUncertain = "skip"   // it may be lost
)
