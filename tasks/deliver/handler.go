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
	OnUncertain   OnUncertain
	PushTimeout   time.Duration
	ExpireAfter   time.Duration // of a message that has no expiry of its own
	Tolerance     time.Duration // how late a message may be sent without being judged anew
	Margin        time.Duration // how much longer than PushTimeout a lease lasts
	Slots         *Slots        // one per running delivery
	Activity      *activity.Log
	Stopping      chan struct{} // closed when no new work may begin
	Ended         chan struct{} // closed when the worker no longer waits for running work
	Metrics       *metrics.Metrics
	Tracer        tracing.Tracer
	Logger        *slog.Logger
	toldUnknown   atomic.Pointer[time.Time] // when tellUnknown logged
	toldMissing   onceAMinute
	looked        atomic.Int64 // when stoppedAll let a message through, Unix ms by the local clock
	away          awayPartitions
}

// heldEarly is how much earlier than the queue's lead a task may come and wait here. An
// earlier one, of a program whose clock is ahead, goes back to the queue.
const heldEarly = 5 * time.Second

// SettleWithin is for how long a delivery whose lease ended while the store was away may
// still settle. It is longer than one try to settle and the pause before it.
const SettleWithin = 4 * time.Second

var errEarly = errors.New("the message's time has not come")

var errBusy = errors.New("another delivery goes first: of the same message, or of an older one that is late")

// ErrPaced is the cause with which a task goes back to the queue to wait for its pace.
var ErrPaced = errors.New("the pace of the target, or a pause")

// rulesAfter is after how long a late message comes again if this program does not know
// its user's rules. Another worker may know them, or an operator has to act.
const rulesAfter = 30 * time.Second

// Handle handles a task to its end. It returns an error if the task has to come again:
// another delivery runs, the message waits for its pace or its rules, the worker stops,
// the store answers with an error, or the node of a cluster that has the message is away.
// A task that names no message is an error too. The queue ends ctx when it loses track of
// the task: that stops only the waiting. Handle calls claimed when it has claimed the
// message and delivers it.
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
		// answer. This ends well before its lease may run out.
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
				d.Nonce = "" // nobody has seen it
				h.away.note(d.User, h.Clock.Local())
				ctx, wait = context.WithoutCancel(ctx), 0
				if !h.Queue.Answers(ctx) {
					wait = persist.Pause
				}
				continue
			}
		}
		if wrong, garbage := errors.AsType[*fault.InvalidError](err); garbage {
			// The value may name a user, so it is left out.
			return &queue.NotOursError{Cause: fmt.Errorf("payload of a task: it has no valid %s", wrong.Field)}
		}
		if rules.UnknownRules(err) {
			h.tellUnknown(ctx, err)
			return &queue.AgainError{After: rulesAfter, Cause: err}
		}
		if persist.Unavailable(err) {
			// The task stays here. Either the queue could not take it back, and would find
			// it again minutes later. Or the message may be claimed, under a nonce that
			// only this task knows: at most Slots come so far before a node is known to be
			// away.
			h.Logger.DebugContext(ctx, "a task waits for the store", "error", err)
			ctx, wait = context.WithoutCancel(ctx), persist.Pause
			continue
		}
		if err != nil || claim.Verdict != messages.Early && !claim.InGrace {
			return err
		}
		// The store's own clock says how long is left.
		due, wait = claim.Until, claim.Until.Sub(claim.Now)
		d.Nonce = "" // the claim holds nothing
	}
}

// tellUnknown logs why messages wait, at most once in rulesAfter for all of them.
func (h *Handler) tellUnknown(ctx context.Context, err error) {
	now := h.Clock.Local()
	last := h.toldUnknown.Load()
	if last != nil && now.Sub(*last) < rulesAfter || !h.toldUnknown.CompareAndSwap(last, &now) {
		return
	}
	h.Logger.WarnContext(ctx, "late messages wait until the rules of their users are known", "error", err)
}

// giveUpNonce gives back a message that this delivery may have claimed without a reply.
// If it had, giveUpNonce sets a new timer and reports true. If it reports true or an
// error, it has also given back the delivery slot.
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

// unsent returns what to enqueue and what to record for a message that was claimed and
// not sent.
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

// pass waits for a permit of the target. The caller has a delivery slot, which pass gives
// back if it returns an error. The error is a *pacedError if the wait would be long.
func (h *Handler) pass(ctx context.Context, o sendlimit.Origin) (permit, error) {
	if wait, stopped := h.stoppedAll(); stopped {
		h.Slots.Leave(o)
		return permit{}, &pacedError{after: wait, most: wait}
	}
	passed, err := h.Pacer.pass(ctx, h.Stopping, o)
	if err != nil {
		h.Slots.Leave(o)
	}
	return passed, err
}

// passExpired lets a message pass that expired while it waits for its pace, so that its claim
// drops it. Another one gets a *queue.AgainError: it comes again after that time, or when it expires.
// An error of the store is returned as it is.
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
// back the delivery slot, and the permit unless a call begins with it. It gives back the slot
// earlier if the store does not take the result.
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
	// The delivery and the placing of other late messages do not wait for each other.
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
			return claim, nil // the queue would not bring it back as soon
		}
		return claim, &queue.AgainError{After: claim.Until.Sub(claim.Now), Cause: errBusy}
	case messages.Stale:
		h.Logger.DebugContext(ctx, "a task is stale", "id", d.ID)
	case messages.Dropped:
		h.countDrop(ctx, claim.Account, claim.Reason, claim.Now, claim.SendAt)
	case messages.Reached:
		h.Activity.Delivered(claim.Account, claim.Now, 0, false) // at an earlier attempt, whose lateness is not known
		h.Logger.WarnContext(ctx, "a message reached some devices and is not tried on the others", "id", d.ID, "reason", claim.Reason)
	case messages.Early, messages.Postponed, messages.Paused:
	}
	return claim, nil
}

// place sets the timers of a user's late messages that a claim gave other times, and
// counts those that it dropped.
func (h *Handler) place(ctx context.Context, claim messages.Claim) {
	h.Queue.EnqueueNotices(ctx, claim.Notices, h.Logger)
	for _, p := range claim.Placed {
		h.Metrics.Postponed()
		h.Activity.Postponed(claim.Now)
		h.Logger.DebugContext(ctx, "postponed a late message", "id", p.ID, "from", p.From, "to", p.Due)
		h.Timers.Set(ctx, p.Timer, claim.Now)
	}
	for _, dropped := range claim.Dropped {
		h.countDrop(ctx, dropped.Account, dropped.Reason, claim.Now, dropped.SendAt)
	}
}

func (h *Handler) countDrop(ctx context.Context, account, reason string, now, sendAt time.Time) {
	late := now.Sub(sendAt)
	if reason == messages.ReasonUncertain {
		h.Metrics.Uncertain()
		h.Activity.Failed(account, now, reason)
		h.Logger.WarnContext(ctx, "gave up a message of which nobody knows whether it arrived", "late", late)
		return
	}
	h.Metrics.Dropped(reason)
	h.Activity.Dropped(account, now, reason)
	h.Logger.WarnContext(ctx, "dropped a message", "reason", reason, "late", late)
}
