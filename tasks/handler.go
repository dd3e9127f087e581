package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// handler takes a task from the queue to its end: it waits for the task's
// time, claims the message, delivers it, and settles what became of it.
type handler struct {
	rules       *rules
	queue       *queue
	pacer       *pacer
	confirmer   *confirmer
	clock       *clock
	notifier    notifier.Notifier
	retries     RetryPolicy
	onUncertain OnUncertain
	pushTimeout time.Duration
	tolerance   time.Duration                                   // how late a message may go out without being judged anew
	margin      time.Duration                                   // how much longer than a delivery may take its lease lasts
	slots       chan struct{}                                   // one a delivery that runs
	announce    func(ctx context.Context, payload []byte) error // takes a notice of the outbox to its end
	tally       *tally
	stopping    chan struct{}  // closed when no new work is to begin
	running     sync.WaitGroup // handlers at work, those that the queue has given up on included
	ended       chan struct{}  // closed when the worker no longer waits for them
	metrics     *Metrics
	logger      *slog.Logger
	toldUnknown atomic.Pointer[time.Time] // when tellUnknown logged
}

// storePause is between two tries at a store that is away.
const storePause = 500 * time.Millisecond

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
	errBusy     = errors.New("another delivery goes first: of the same message, or of an older one that is late")
	errPaced    = errors.New("the pace of the target, or a pause")
	errNewer    = errors.New("a newer program wrote the task")
)

// rulesAfter is when a late message comes again whose user's rules this program does
// not know: another worker may know them, or an operator has to do something.
const rulesAfter = 30 * time.Second

// newerAfter is when a task that a newer program wrote comes again: to it, with
// luck.
const newerAfter = 5 * time.Second

// ProcessTask handles one task. It returns an error only where the task has to
// come again: another delivery runs, the worker stops, a newer program wrote it,
// or the store answers with an error.
func (h *handler) ProcessTask(ctx context.Context, t *asynq.Task) error {
	switch t.Type() {
	case TypeDeliver:
	case TypeAlert:
		h.running.Add(1)
		defer h.running.Done()
		return h.announce(ctx, t.Payload())
	default:
		return &againError{after: newerAfter, cause: errNewer}
	}
	p, err := decodePayload(t.Payload())
	if err != nil {
		return h.dropped(ctx, err)
	}
	if p.Version > payloadVersion {
		return &againError{after: newerAfter, cause: errNewer}
	}
	h.running.Add(1)
	defer h.running.Done()
	return h.handle(ctx, p)
}

// handle takes a task of ours to its end. The queue ends ctx when it loses
// track of the task, which stops the waiting, but nothing that has begun.
func (h *handler) handle(ctx context.Context, p Payload) error {
	d := messages.Delivery{User: p.User, ID: p.ID, Generation: p.Generation}
	var nonceFrom time.Time
	due := p.due()
	for wait := due.Sub(h.clock.now()); ; {
		if !sleep(ctx, h.stopping, wait) || !h.takeSlot(ctx) {
			return h.stopped(ctx, due)
		}
		// A claim whose reply got lost is repeated with its nonce, and answered as
		// the first time, but not for so long that its lease may run out.
		if h.clock.local().Sub(nonceFrom) > h.margin/2 {
			given, err := h.giveUpNonce(context.WithoutCancel(ctx), d)
			if given {
				return nil
			}
			if err != nil {
				ctx, wait = context.WithoutCancel(ctx), storePause
				continue
			}
			d.Nonce = ""
		}
		permit, err := h.pass(ctx)
		if paced, ok := errors.AsType[*pacedError](err); ok {
			if wait = paced.after; d.Nonce != "" {
				wait = min(wait, h.margin/4) // the message may be held
			} else if wait > heldFor {
				return &againError{after: min(wait, backFor), cause: errPaced}
			}
			continue
		}
		if errors.Is(err, errStopping) {
			return h.stopped(ctx, due)
		}
		var claim messages.Claim
		if err == nil {
			if d.Nonce == "" {
				d.Nonce, nonceFrom = keyspace.NewGeneration(), h.clock.local()
			}
			claim, err = h.deliver(context.WithoutCancel(ctx), d, permit)
		}
		if wrong, garbage := errors.AsType[*fault.InvalidError](err); garbage {
			return h.dropped(ctx, fmt.Errorf("payload of a task: it has no valid %s", wrong.Field)) // the value may name a user
		}
		if UnknownRules(err) {
			h.tellUnknown(ctx, err)
			return &againError{after: rulesAfter, cause: err}
		}
		if _, away := errors.AsType[*fault.UnavailableError](err); away {
			// The queue could not take the task back either, and would find it
			// again minutes later: what is in hand stays there.
			h.logger.DebugContext(ctx, "a task waits for the store", "error", err)
			ctx, wait = context.WithoutCancel(ctx), storePause
			continue
		}
		if err != nil || claim.Verdict != messages.Early {
			return err
		}
		// What is still missing is told by the store's own clock.
		due, wait = claim.Until, claim.Until.Sub(claim.Now)
	}
}

// tellUnknown logs why messages wait, once a while for all of them.
func (h *handler) tellUnknown(ctx context.Context, err error) {
	now := h.clock.local()
	last := h.toldUnknown.Load()
	if last != nil && now.Sub(*last) < rulesAfter || !h.toldUnknown.CompareAndSwap(last, &now) {
		return
	}
	h.logger.WarnContext(ctx, "late messages wait until the rules of their users are known", "error", err)
}

// giveUpNonce gives back a message that this delivery may hold without having
// sent it: a claim took effect, perhaps, whose reply got lost. It reports whether
// that was so, and the message has a new task. Unless it was not, and all is
// well, the delivery slot is given back.
func (h *handler) giveUpNonce(ctx context.Context, d messages.Delivery) (given bool, err error) {
	if d.Nonce == "" {
		return false, nil
	}
	defer func() {
		if given || err != nil {
			<-h.slots
		}
	}()
	l, err := h.rules.lastKnown(ctx)
	if err != nil {
		return false, err
	}
	ctx, done := context.WithTimeout(ctx, settleWithin)
	defer done()
	again, settlement := h.unsent(d)
	if given, err = l.gate.Settle(ctx, d, settlement, time.Time{}); given {
		h.handOver(ctx, again)
	}
	return given, err
}

// unsent is what to record of a message that is held and was not sent, and what
// to hand to the queue then.
func (h *handler) unsent(d messages.Delivery) (messages.Queued, messages.Settlement) {
	again := messages.Queued{
		User: d.User, ID: d.ID, Generation: keyspace.NewGeneration(), Due: h.clock.now().Truncate(time.Millisecond),
	}
	return again, messages.Settlement{
		Retry:  &messages.Retry{Generation: again.Generation, At: again.Due, Unsent: true},
		Reason: messages.ReasonLate,
	}
}

// dropped ends a task whose payload names no message. It would be no better
// the next time.
func (h *handler) dropped(ctx context.Context, err error) error {
	h.logger.ErrorContext(ctx, "dropped a task that is not ours", "error", err)
	return nil
}

// pass waits for a permit of the target, with a delivery slot, which it gives
// back where it returns an error. What has to wait for long is told so by a
// *pacedError, and has no slot meanwhile.
func (h *handler) pass(ctx context.Context) (permit, error) {
	passed, err := h.pacer.pass(ctx, h.stopping)
	if err != nil {
		<-h.slots
	}
	return passed, err
}

// takeSlot waits for a delivery slot, which deliver gives back. It reports
// false when ctx ends or no new work is to begin.
func (h *handler) takeSlot(ctx context.Context) bool {
	select {
	case h.slots <- struct{}{}:
		return true
	case <-h.stopping:
	case <-ctx.Done():
	}
	return false
}

func (h *handler) stopped(ctx context.Context, due time.Time) error {
	cause := errStopping
	if err := context.Cause(ctx); err != nil {
		cause = err
	}
	return &againError{after: max(0, due.Sub(h.clock.now())), cause: cause}
}

// deliver claims a message; one that may be sent it sends, and settles. It has
// a delivery slot, and gives it back; a permit too, where nothing is sent.
func (h *handler) deliver(ctx context.Context, d messages.Delivery, permit permit) (messages.Claim, error) {
	defer func() { <-h.slots }()
	sent := false
	defer func() {
		if !sent {
			h.pacer.giveBack(ctx, permit)
		}
	}()
	l, err := h.rules.lastKnown(ctx)
	if err != nil {
		return messages.Claim{}, err
	}
	var claim messages.Claim
	var took time.Duration
	err = h.rules.do(ctx, l, func(present *limiters) (err error) {
		l = present
		claim, took, err = h.claim(ctx, l.gate, d)
		return err
	})
	if err != nil {
		return messages.Claim{}, err
	}
	// A delivery does not wait for what else was late, nor the other way round.
	var placing sync.WaitGroup
	placing.Go(func() { h.place(ctx, d.User, claim) })
	defer placing.Wait()
	switch claim.Verdict {
	case messages.Send:
		if claim.TakenOver {
			h.metrics.uncertain()
		}
		answered := h.clock.local()
		permit, err = h.pacer.renew(ctx, h.stopping, permit)
		took += h.clock.local().Sub(answered)
		if err != nil || claim.Now.Sub(claim.SendAt)+took > h.tolerance {
			return claim, h.giveBack(ctx, l.gate, d)
		}
		sent = true
		return claim, h.send(ctx, l.gate, d, claim)
	case messages.Busy:
		return claim, &againError{after: claim.Until.Sub(claim.Now), cause: errBusy}
	case messages.Stale:
		h.logger.DebugContext(ctx, "a task is stale", "id", d.ID)
	case messages.Dropped:
		h.countDrop(ctx, claim.Account, claim.Reason, claim.Now, claim.SendAt)
	case messages.Early, messages.Postponed:
	}
	return claim, nil
}

// place hands over the late messages of a user that a claim gave other times,
// and counts those that it dropped.
func (h *handler) place(ctx context.Context, user string, claim messages.Claim) {
	h.queue.announceAll(ctx, claim.Notices, h.logger)
	for _, p := range claim.Placed {
		h.metrics.postponed()
		h.logger.DebugContext(ctx, "postponed a late message", "id", p.ID, "from", p.From, "to", p.At)
		h.handOver(ctx, messages.Queued{User: user, ID: p.ID, Generation: p.Generation, Due: p.At})
	}
	for _, dropped := range claim.Dropped {
		h.countDrop(ctx, dropped.Account, dropped.Reason, claim.Now, dropped.SendAt)
	}
}

func (h *handler) countDrop(ctx context.Context, account, reason string, now, sendAt time.Time) {
	late := now.Sub(sendAt)
	if reason == messages.ReasonUncertain {
		h.metrics.uncertain()
		h.logger.WarnContext(ctx, "gave up a message of which nobody knows whether it arrived", "late", late)
		return
	}
	h.metrics.dropped(reason)
	h.tally.dropped(account, now)
	h.logger.WarnContext(ctx, "dropped a message", "reason", reason, "late", late)
}

// claim also returns how long the answer took: it may be that much older than
// what it tells.
func (h *handler) claim(ctx context.Context, gate *messages.Gate, d messages.Delivery) (messages.Claim, time.Duration, error) {
	sent := h.clock.local()
	claim, err := gate.Claim(ctx, d, h.pushTimeout+h.margin, time.Time{})
	received := h.clock.local()
	if err != nil {
		return claim, 0, err
	}
	h.clock.learn(sent, received, claim.Now)
	return claim, received.Sub(sent), nil
}
