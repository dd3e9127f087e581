package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/rules"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// Handler handles delivery tasks: it waits for the task's time, claims the message,
// delivers it and settles the result.
type Handler struct {
	Policies      *rules.Policies
	Looks         *job.Looks
	Gate          *messages.Gate // judges by the Rules of Policies
	Records       *messages.Records
	Queue         *queue.Queue
	Timers        *queue.Timers
	Pacer         *Pacer
	Pauses        *Pauses
	Clock         *storeclock.Clocks
	Channels      *channels.Set
	PacedChannels []*PacedChannel // of the channels
	Devices       *devices.Store
	Retries       retry.Policy
	// FollowZone moves a message whose local time has to be read in another zone of its user.
	FollowZone  func(ctx context.Context, user, id string) error
	OnUncertain OnUncertain
	PushTimeout time.Duration
	ExpireAfter time.Duration // of a message that has no expiry of its own
	Tolerance   time.Duration // how late a message may be sent without being judged again
	Margin      time.Duration // how much longer than PushTimeout a lease lasts
	Slots       *Slots        // one for each running delivery
	Activity    *activity.Log
	Stopping    chan struct{} // closed when no new work may begin
	Ended       chan struct{} // closed when the worker no longer waits for running work
	Metrics     *metrics.Metrics
	Tracer      tracing.Tracer
	Logger      *slog.Logger
	looked      atomic.Int64 // when stoppedAll last permitted a claim, Unix ms by the local clock
	away        awayPartitions
}

// heldEarly is how much earlier than the queue's lead a task may come and wait here. An
// earlier task, of a program whose clock is ahead, goes back to the queue.
const heldEarly = 5 * time.Second

// SettleWithin is how long after its lease a delivery may still settle, if the store was away. It is
// longer than one try to settle and the pause before it.
const SettleWithin = 4 * time.Second

var errEarly = errors.New("the message's time has not come")

var errBusy = errors.New("another delivery is first: of the same message, or of an older late one")

// ErrPaced is the cause with which a task goes back to the queue to wait for its pace.
var ErrPaced = errors.New("the pace of the target, or a pause")

// rulesAfter is the delay of a late message whose user's rules this program does not know. Another
// worker may know them, or an operator has to act.
const rulesAfter = 30 * time.Second

// Handle handles a task to its end. It returns an error if the task has to come again:
// another delivery runs, the message waits for its pace or its rules, the worker stops,
// the store answers with an error, or the message's node of a cluster is away. It also returns an
// error for a task that names no message. The end of ctx stops only the waiting: the queue ends it
// when it loses track of the task. Handle calls claimed when it has claimed the message.
func (h *Handler) Handle(ctx context.Context, m sendlimit.Timer, claimed func()) error {
	d := messages.Delivery{User: m.User, ID: m.ID, Generation: m.Generation, Origin: m.Origin}
	var nonceFrom time.Time
	due := m.Due
	var wake <-chan struct{}
	clock := h.Clock.OfUser(d.User)
	for wait := due.Sub(clock.Now()); ; {
		if lead := h.Queue.Lead(); d.Nonce == "" && wait > lead+heldEarly {
			return &queue.AgainError{After: wait - lead, Cause: errEarly}
		}
		if !storeclock.SleepOrWake(ctx, h.Stopping, wake, wait) {
			return h.stopped(ctx, due.Sub(clock.Now()))
		}
		if d.Nonce == "" && h.away.has(d.User, h.Clock.Local()) && h.Queue.Answers(ctx) {
			return h.awayAgain(clock.Now().Sub(due))
		}
		if !h.Slots.Take(ctx, h.Stopping, d.Origin) {
			return h.stopped(ctx, due.Sub(clock.Now()))
		}
		wake = nil
		// A claim whose reply got lost is repeated with its nonce, and gets the same
		// reply, until well before its lease may run out.
		if h.Clock.Local().Sub(nonceFrom) > h.Margin/2 {
			given, err := h.giveUpNonce(context.WithoutCancel(ctx), d)
			if given {
				return nil
			}
			if err != nil {
				ctx, wait = context.WithoutCancel(ctx), persist.Pause
				continue
			}
			d.Nonce = ""
		}
		permit, err := h.pass(ctx, d.Origin)
		if paced, ok := errors.AsType[*pacedError](err); ok && d.Nonce == "" && paced.after > heldFor {
			permit, err = h.passExpired(ctx, d, min(paced.after, paced.most))
		}
		if paced, ok := errors.AsType[*pacedError](err); ok {
			if wait = paced.after; d.Nonce != "" {
				wait = min(wait, h.Margin/4) // the message may be claimed
			}
			wake = paced.wake
			continue
		}
		if errors.Is(err, queue.ErrStopping) {
			return h.stopped(ctx, due.Sub(clock.Now()))
		}
		var claim messages.Claim
		if err == nil {
			first := d.Nonce == ""
			if first {
				d.Nonce, nonceFrom = keyspace.NewToken(), h.Clock.Local()
			}
			claim, err = h.deliver(context.WithoutCancel(ctx), d, permit, claimed)
			if first && errors.Is(err, errAway) {
				d.Nonce = "" // it was not sent
				h.away.note(d.User, h.Clock.Local())
				ctx, wait = context.WithoutCancel(ctx), 0
				if !h.Queue.Answers(ctx) {
					wait = persist.Pause
				}
				continue
			}
		}
		if wrong, garbage := errors.AsType[*fault.InvalidError](err); garbage {
			// Without the value, which may name a user.
			return &queue.NotOursError{Cause: fmt.Errorf("payload of a task: it has no valid %s", wrong.Field)}
		}
		if rules.UnknownRules(err) {
			h.Logger.WarnContext(ctx, "late messages wait until the rules of their users are known", "error", err)
			return &queue.AgainError{After: rulesAfter, Cause: err}
		}
		if persist.Unavailable(err) {
			// Keep the task. The queue may not take it back either, and would find it only minutes
			// later. Or the message may be claimed, with a nonce that only this task knows. At most
			// Slots tasks come here before the node is known to be away.
			h.Logger.DebugContext(ctx, "a task waits for the store", "error", err)
			ctx, wait = context.WithoutCancel(ctx), persist.Pause
			continue
		}
		if err != nil || claim.Verdict != messages.Early && claim.Verdict != messages.OtherZone && !claim.InGrace {
			return err
		}
		due, wait = claim.Until, claim.Until.Sub(claim.Now) // by the store's clock
		d.Nonce = ""                                        // the claim holds nothing
	}
}

// giveUpNonce gives back a message whose claim got no reply. If the message was claimed, it sets a
// new timer and reports true. If it reports true or an error, it has given back the delivery slot.
func (h *Handler) giveUpNonce(ctx context.Context, d messages.Delivery) (given bool, err error) {
	if d.Nonce == "" {
		return false, nil
	}
	defer func() {
		if given || err != nil {
			h.Slots.Leave(d.Origin)
		}
	}()
	ctx, done := context.WithTimeout(ctx, persist.TryWithin)
	defer done()
	again, settlement := h.unsent(d)
	if given, err = h.Gate.Settle(ctx, d, settlement, time.Time{}); given {
		h.Timers.Set(ctx, again, again.Due)
	}
	return given, err
}

// unsent returns the timer and the settlement of a message that was claimed and not sent.
func (h *Handler) unsent(d messages.Delivery) (sendlimit.Timer, messages.Settlement) {
	again := sendlimit.Timer{
		User: d.User, ID: d.ID, Generation: keyspace.NewToken(), Due: h.Clock.OfUser(d.User).Now().Truncate(time.Millisecond),
		Origin: d.Origin,
	}
	return again, messages.Settlement{
		Outcome: messages.Retried,
		Retry:   messages.Retry{Generation: again.Generation, Unsent: true, At: again.Due},
		Reason:  messages.ReasonLate,
	}
}

// pass waits for a permit of the target, which nobody gets while sending is stopped. If it returns
// an error, it gives back the caller's delivery slot. The error is a *pacedError if the wait would
// be long.
func (h *Handler) pass(ctx context.Context, o sendlimit.Origin) (permit, error) {
	wait, stopped := h.Channels.SendingStopped(ctx)
	if !stopped {
		wait, stopped = h.stoppedAll()
	}
	if stopped {
		h.Slots.Leave(o)
		return permit{}, &pacedError{after: wait, most: wait}
	}
	passed, err := h.Pacer.pass(ctx, h.Stopping, o)
	if err != nil {
		h.Slots.Leave(o)
	}
	return passed, err
}

// passExpired returns a permit for a message that expired while it waits for its pace, so that its
// claim drops it. Otherwise the error is a *queue.AgainError: the message comes again after a time,
// or when it expires. It returns errors of the store unchanged.
func (h *Handler) passExpired(ctx context.Context, d messages.Delivery, after time.Duration) (permit, error) {
	expires, err := h.Records.Expiry(ctx, d.User, d.ID, h.ExpireAfter)
	if err != nil {
		return permit{}, err
	}
	if left := expires.Sub(h.Clock.OfUser(d.User).Now()); left > 0 {
		return permit{}, &queue.AgainError{After: min(after, left), Cause: ErrPaced}
	}
	if !h.Slots.Take(ctx, h.Stopping, d.Origin) {
		return permit{}, queue.ErrStopping
	}
	return permit{onlyExpired: true}, nil
}

func (h *Handler) stopped(ctx context.Context, wait time.Duration) error {
	cause := queue.ErrStopping
	if err := context.Cause(ctx); err != nil {
		cause = err
	}
	return &queue.AgainError{After: max(0, wait), Cause: cause}
}

// deliver claims a message, sends it if the gate allows, and settles the result. It gives
// back the delivery slot, as early as the first failure to store the result, and the permit unless a
// call begins with it.
func (h *Handler) deliver(
	ctx context.Context, d messages.Delivery, permit permit, claimed func(),
) (messages.Claim, error) {
	origin := d.Origin
	leave := sync.OnceFunc(func() { h.Slots.Leave(origin) })
	defer leave()
	sent := false
	defer func() {
		if !sent {
			h.Pacer.giveBack(ctx, permit)
		}
	}()
	if err := h.Policies.RefreshOrLastKnown(ctx); err != nil {
		return messages.Claim{}, err
	}
	var claim messages.Claim
	var took time.Duration
	var err error
	if d.Paused, err = h.paused(ctx, d); err == nil {
		claim, took, err = h.claim(ctx, d)
	}
	if store.NotSent(err) {
		return messages.Claim{}, fmt.Errorf("%w: %w", errAway, err)
	}
	if err != nil {
		return messages.Claim{}, err
	}
	if claim.Verdict == messages.Send {
		d.Origin = sendlimit.Origin{Account: claim.Account, Campaign: claim.Campaign}
	}
	// Other late messages are placed during the delivery.
	var placing sync.WaitGroup
	placing.Go(func() { h.place(ctx, claim) })
	defer placing.Wait()
	h.traceUnsent(ctx, d, claim, took)
	switch claim.Verdict {
	case messages.Send:
		claimed()
		if claim.TakenOver {
			h.Metrics.Uncertain()
		}
		answered := h.Clock.Local()
		traced, span := h.Tracer.Deliver(ctx, h.claimed(d, claim, took))
		defer span.End()
		permit, err = h.Pacer.renew(ctx, h.Stopping, permit, d.Origin)
		took += h.Clock.Local().Sub(answered)
		if err != nil || permit.onlyExpired || claim.Now.Sub(claim.SendAt)+took > h.Tolerance {
			span.Result(givenBack, "", false)
			return claim, h.giveBack(traced, d, leave)
		}
		sent = true
		return claim, h.send(traced, d, claim, permit, claim.Now.Sub(claim.SendAt)+took, leave)
	case messages.Busy:
		if claim.InGrace {
			return claim, nil // wait here: the queue would take longer
		}
		return claim, &queue.AgainError{After: claim.Until.Sub(claim.Now), Cause: errBusy}
	case messages.Stale:
		h.Logger.DebugContext(ctx, "a task is stale", "id", d.ID)
	case messages.Dropped:
		h.countDrop(ctx, d.ID, claim.Account, claim.Reason, claim.Now, claim.SendAt)
	case messages.Reached:
		h.Activity.Delivered(claim.Account, claim.Now, 0, false) // the lateness of that attempt is not known
		h.Logger.WarnContext(ctx, "a message reached some devices, and the others are given up", "id", d.ID, "reason", claim.Reason)
	case messages.OtherZone:
		claim.Until = claim.Now // the message may keep its place
		return claim, h.followZone(ctx, d)
	case messages.Early, messages.Postponed, messages.Paused:
	}
	return claim, nil
}
