package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/report"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// Handler takes a task from the queue to its end: it waits for the task's
// time, claims the message, delivers it, and settles what became of it.
type Handler struct {
	Policies    *rules.Policies
	Gate        *messages.Gate // by their Rules
	Queue       *queue.Queue
	Timers      *queue.Timers
	Pacer       *Pacer
	Clock       *storeclock.Clock
	Notifier    notifier.Notifier
	Retries     retry.Policy
	OnUncertain OnUncertain
	PushTimeout time.Duration
	Tolerance   time.Duration // how late a message may go out without being judged anew
	Margin      time.Duration // how much longer than a delivery may take its lease lasts
	Slots       chan struct{} // one a delivery that runs
	Tally       *report.Tally
	Stopping    chan struct{} // closed when no new work is to begin
	Ended       chan struct{} // closed when the worker no longer waits for what runs
	Metrics     *metrics.Metrics
	Logger      *slog.Logger
	toldUnknown atomic.Pointer[time.Time] // when tellUnknown logged
}

var errBusy = errors.New("another delivery goes first: of the same message, or of an older one that is late")

var errPaced = errors.New("the pace of the target, or a pause")

// rulesAfter is when a late message comes again whose user's rules this program does
// not know: another worker may know them, or an operator has to do something.
const rulesAfter = 30 * time.Second

// Handle takes a task to its end. It returns an error only where the task has to
// come again, as another delivery runs, the worker stops or the store answers with
// an error, or where it names no message. The queue ends ctx when it loses track of
// the task: that stops the waiting, but nothing that has begun.
func (h *Handler) Handle(ctx context.Context, p queue.Payload) error {
	d := messages.Delivery{User: p.User, ID: p.ID, Generation: p.Generation}
	var nonceFrom time.Time
	due := p.DueAt()
	for wait := due.Sub(h.Clock.Now()); ; {
		if !storeclock.Sleep(ctx, h.Stopping, wait) || !h.takeSlot(ctx) {
			return h.stopped(ctx, due)
		}
		// A claim whose reply got lost is repeated with its nonce, and answered as
		// the first time, but not for so long that its lease may run out.
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
		permit, err := h.pass(ctx)
		if paced, ok := errors.AsType[*pacedError](err); ok {
			if wait = paced.after; d.Nonce != "" {
				wait = min(wait, h.Margin/4) // the message may be held
			} else if wait > heldFor {
				return &queue.AgainError{After: min(wait, backFor), Cause: errPaced}
			}
			continue
		}
		if errors.Is(err, queue.ErrStopping) {
			return h.stopped(ctx, due)
		}
		var claim messages.Claim
		if err == nil {
			if d.Nonce == "" {
				d.Nonce, nonceFrom = keyspace.NewToken(), h.Clock.Local()
			}
			claim, err = h.deliver(context.WithoutCancel(ctx), d, permit)
		}
		if wrong, garbage := errors.AsType[*fault.InvalidError](err); garbage {
			// Without the value, which may name a user.
			return &queue.NotOursError{Cause: fmt.Errorf("payload of a task: it has no valid %s", wrong.Field)}
		}
		if rules.UnknownRules(err) {
			h.tellUnknown(ctx, err)
			return &queue.AgainError{After: rulesAfter, Cause: err}
		}
		if persist.Unavailable(err) {
			// The queue could not take the task back either, and would find it
			// again minutes later: what is in hand stays there.
			h.Logger.DebugContext(ctx, "a task waits for the store", "error", err)
			ctx, wait = context.WithoutCancel(ctx), persist.Pause
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
func (h *Handler) tellUnknown(ctx context.Context, err error) {
	now := h.Clock.Local()
	last := h.toldUnknown.Load()
	if last != nil && now.Sub(*last) < rulesAfter || !h.toldUnknown.CompareAndSwap(last, &now) {
		return
	}
	h.Logger.WarnContext(ctx, "late messages wait until the rules of their users are known", "error", err)
}

// giveUpNonce gives back a message that this delivery may hold without having
// sent it: a claim took effect, perhaps, whose reply got lost. It reports whether
// that was so, and the message has a new task. Unless it was not, and all is
// well, the delivery slot is given back.
func (h *Handler) giveUpNonce(ctx context.Context, d messages.Delivery) (given bool, err error) {
	if d.Nonce == "" {
		return false, nil
	}
	defer func() {
		if given || err != nil {
			<-h.Slots
		}
	}()
	ctx, done := context.WithTimeout(ctx, persist.TryWithin)
	defer done()
	again, settlement := h.unsent(d)
	if given, err = h.Gate.Settle(ctx, d, settlement, time.Time{}); given {
		h.Timers.Set(ctx, again)
	}
	return given, err
}

// unsent is what to record of a message that is held and was not sent, and what
// to hand to the queue then.
func (h *Handler) unsent(d messages.Delivery) (messages.Queued, messages.Settlement) {
	again := messages.Queued{
		User: d.User, ID: d.ID, Generation: keyspace.NewToken(), Due: h.Clock.Now().Truncate(time.Millisecond),
	}
	return again, messages.Settlement{
		Outcome: messages.Retried,
		Retry:   messages.Retry{Generation: again.Generation, At: again.Due, Unsent: true},
		Reason:  messages.ReasonLate,
	}
}

// pass waits for a permit of the target, with a delivery slot, which it gives
// back where it returns an error. What has to wait for long is told so by a
// *pacedError, and has no slot meanwhile.
func (h *Handler) pass(ctx context.Context) (permit, error) {
	passed, err := h.Pacer.pass(ctx, h.Stopping)
	if err != nil {
		<-h.Slots
	}
	return passed, err
}

// takeSlot waits for a delivery slot, which deliver gives back. It reports
// false when ctx ends or no new work is to begin.
func (h *Handler) takeSlot(ctx context.Context) bool {
	select {
	case h.Slots <- struct{}{}:
		return true
	case <-h.Stopping:
	case <-ctx.Done():
	}
	return false
}

func (h *Handler) stopped(ctx context.Context, due time.Time) error {
	cause := queue.ErrStopping
	if err := context.Cause(ctx); err != nil {
		cause = err
	}
	return &queue.AgainError{After: max(0, due.Sub(h.Clock.Now())), Cause: cause}
}

// deliver claims a message; one that may be sent it sends, and settles. It has
// a delivery slot, and gives it back; a permit too, where nothing is sent.
func (h *Handler) deliver(ctx context.Context, d messages.Delivery, permit permit) (messages.Claim, error) {
	defer func() { <-h.Slots }()
	sent := false
	defer func() {
		if !sent {
			h.Pacer.giveBack(ctx, permit)
		}
	}()
	if err := h.Policies.RefreshOrLastKnown(ctx); err != nil {
		return messages.Claim{}, err
	}
	claim, took, err := h.claim(ctx, d)
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
			h.Metrics.Uncertain()
		}
		answered := h.Clock.Local()
		permit, err = h.Pacer.renew(ctx, h.Stopping, permit)
		took += h.Clock.Local().Sub(answered)
		if err != nil || claim.Now.Sub(claim.SendAt)+took > h.Tolerance {
			return claim, h.giveBack(ctx, d)
		}
		sent = true
		return claim, h.send(ctx, d, claim)
	case messages.Busy:
		return claim, &queue.AgainError{After: claim.Until.Sub(claim.Now), Cause: errBusy}
	case messages.Stale:
		h.Logger.DebugContext(ctx, "a task is stale", "id", d.ID)
	case messages.Dropped:
		h.countDrop(ctx, claim.Account, claim.Reason, claim.Now, claim.SendAt)
	case messages.Early, messages.Postponed:
	}
	return claim, nil
}

// place hands over the late messages of a user that a claim gave other times,
// and counts those that it dropped.
func (h *Handler) place(ctx context.Context, user string, claim messages.Claim) {
	h.Queue.EnqueueNotices(ctx, claim.Notices, h.Logger)
	for _, p := range claim.Placed {
		h.Metrics.Postponed()
		h.Logger.DebugContext(ctx, "postponed a late message", "id", p.ID, "from", p.From, "to", p.At)
		h.Timers.Set(ctx, messages.Queued{User: user, ID: p.ID, Generation: p.Generation, Due: p.At})
	}
	for _, dropped := range claim.Dropped {
		h.countDrop(ctx, dropped.Account, dropped.Reason, claim.Now, dropped.SendAt)
	}
}

func (h *Handler) countDrop(ctx context.Context, account, reason string, now, sendAt time.Time) {
	late := now.Sub(sendAt)
	if reason == messages.ReasonUncertain {
		h.Metrics.Uncertain()
		h.Logger.WarnContext(ctx, "gave up a message of which nobody knows whether it arrived", "late", late)
		return
	}
	h.Metrics.Dropped(reason)
	h.Tally.Dropped(account, now)
	h.Logger.WarnContext(ctx, "dropped a message", "reason", reason, "late", late)
}

// claim also returns how long the answer took: it may be that much older than
// what it tells.
func (h *Handler) claim(ctx context.Context, d messages.Delivery) (messages.Claim, time.Duration, error) {
	sent := h.Clock.Local()
	claim, err := h.Gate.Claim(ctx, d, h.PushTimeout+h.Margin, time.Time{})
	received := h.Clock.Local()
	if err != nil {
		return claim, 0, err
	}
	h.Clock.Learn(sent, received, claim.Now)
	return claim, received.Sub(sent), nil
}
