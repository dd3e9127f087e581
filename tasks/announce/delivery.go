package announce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// Announcements handles the tasks of notices: it claims a notice, finds its contact, sends the
// notice and settles the result. A notice without a channel waits in the outbox. A notice that
// another worker has claimed waits there until that worker's lease ends.
type Announcements struct {
	Notices   *notices.Outbox
	Contacts  *Contacts
	Announcer notifier.Announcer // nil: notices wait
	Queue     *queue.Queue
	Clock     *storeclock.Clocks
	Retries   retry.Span
	Kept      time.Duration // how long a notice waits for a channel
	Timeout   time.Duration // of one try; channels have shorter timeouts of their own
	Lease     time.Duration // of a try, which renews it
	Grace     time.Duration // how long a try may last once the worker stops
	Slots     chan struct{} // one for each running task
	Stopping  <-chan struct{}
	Ended     <-chan struct{}
	told      atomic.Bool // a missing channel was logged
	Metrics   *metrics.Metrics
	Logger    *slog.Logger
}

const (
	// Together is how many notices are delivered at a time. Messages have other slots: a slow
	// mail server must not hold them up.
	Together = 32
	// crowdedPause is about the delay of a task that got no slot.
	crowdedPause = time.Second
	// earlyWait is how long a task waits for the time of its notice. An earlier task goes
	// back to the queue.
	earlyWait = 2 * time.Second
	// renewals is how often a lease is renewed before it would end.
	renewals = 4
	// steppedPause is the delay of a task during a step of the store's clock. By that clock
	// a waiting notice may have expired.
	steppedPause = 5 * time.Second
	// channelPause is the delay before the next try of a notice without a channel.
	channelPause = 10 * time.Minute
)

var (
	errEarly   = errors.New("the alert's time has not come")
	errStepped = errors.New("the clock of the store has stepped forward")
	errCrowded = errors.New("too many alerts are being delivered")
	// errAway is in the chain of the error of a claim that was not sent.
	errAway = errors.New("the node of the store that has the alert is away")
)

// Why a notice ends undelivered.
const (
	reasonNoContact  = "no_contact"
	reasonNoChannel  = "no_channel" // for contacts of this kind
	reasonUnreadable = "unreadable" // its details can't be read
)

// Handle handles the task of a notice to its end. It returns an error only if the task
// has to come again or names no notice. The end of ctx stops nothing: the queue ends it when it
// loses track of the task.
func (a *Announcements) Handle(ctx context.Context, notice string) error {
	if a.Announcer == nil {
		return nil // it waits in the outbox
	}
	select {
	case a.Slots <- struct{}{}:
	default:
		return &queue.AgainError{After: crowdedPause + rand.N(crowdedPause), Cause: errCrowded}
	}
	leave := sync.OnceFunc(func() { <-a.Slots })
	defer leave()
	return a.handle(context.WithoutCancel(ctx), notice, leave)
}

// handle claims a notice, and delivers it if the claim allows. While the store is away it
// repeats the claim with the same nonce: if a reply got lost, it gets the same one. If
// only the node of the notice is away, the task goes back to the queue.
func (a *Announcements) handle(ctx context.Context, id string, leave func()) error {
	nonce := keyspace.NewToken()
	for first := true; ; first = false {
		if a.Clock.Stepped() != (storeclock.Step{}) {
			return &queue.AgainError{After: steppedPause, Cause: errStepped}
		}
		claim, told, err := a.claim(ctx, id, nonce)
		switch {
		case first && errors.Is(err, errAway) && a.Queue.Answers(ctx):
			return &queue.AgainError{After: crowdedPause + rand.N(crowdedPause), Cause: errAway}
		case persist.Unavailable(err):
			a.Logger.DebugContext(ctx, "an alert waits for the store", "error", err)
			if !storeclock.Sleep(ctx, a.Stopping, persist.Pause) {
				return &queue.AgainError{Cause: queue.ErrStopping}
			}
			continue
		case err != nil:
			if wrong, garbage := errors.AsType[*fault.InvalidError](err); garbage {
				return &queue.NotOursError{Cause: fmt.Errorf("payload of an alert: it has no valid %s", wrong.Field)}
			}
			return err
		}
		switch {
		case claim.Verdict == notices.Send:
			return a.send(ctx, claim, nonce, told, leave)
		case claim.Verdict == notices.Early, claim.InGrace:
			wait := claim.Until.Sub(claim.Now)
			if wait > earlyWait {
				return &queue.AgainError{After: wait, Cause: errEarly}
			}
			if !storeclock.Sleep(ctx, a.Stopping, wait) {
				return &queue.AgainError{Cause: queue.ErrStopping}
			}
			nonce = keyspace.NewToken()
			continue
		case claim.Verdict == notices.Dropped:
			a.endedUntold(ctx, id, claim.Reason, claim.Failed, nil)
		}
		return nil // it ended, or comes again when another worker's lease ends
	}
}

// claim claims a notice and returns its announcement. If looking up the contact took over half
// of the lease, it claims again with the same nonce.
func (a *Announcements) claim(ctx context.Context, id, nonce string) (notices.Claim, announcement, error) {
	for {
		began := a.Clock.Local()
		claim, err := a.Notices.Claim(ctx, id, nonce, a.Lease, time.Time{})
		if store.NotSent(err) {
			err = fmt.Errorf("%w: %w", errAway, err)
		}
		if err != nil || claim.Verdict != notices.Send {
			return claim, announcement{}, err
		}
		told, err := a.Contacts.announcementOf(ctx, claim.Notice)
		if err != nil || a.Clock.Local().Sub(began) <= a.Lease/2 {
			return claim, told, err
		}
	}
}

// Forget ends a notice that has waited too long, and gives back one that may wait.
func (a *Announcements) Forget(ctx context.Context, id string) error {
	nonce := keyspace.NewToken()
	claim, err := a.Notices.Claim(ctx, id, nonce, a.Lease, time.Time{})
	switch {
	case err != nil:
		return err
	case claim.Verdict == notices.Dropped:
		a.endedUntold(ctx, id, claim.Reason, claim.Failed, nil)
	case claim.Verdict == notices.Send:
		_, err = a.settle(ctx, id, nonce, notices.Settlement{
			Outcome: notices.Retried, RetryAt: claim.Now, Unsent: true, Reason: reasonNoChannel,
		}, func() {})
	}
	return err
}

// send delivers a claimed notice and settles the result at once. It calls leave if the store does
// not accept the result at the first try.
func (a *Announcements) send(ctx context.Context, claim notices.Claim, nonce string, told announcement, leave func()) error {
	kind := string(claim.Notice.Kind)
	if claim.TakenOver {
		a.Logger.WarnContext(ctx, "an alert's delivery was not finished: it is sent again", "kind", kind)
	}
	settlement, result := notices.Settlement{Outcome: notices.Discarded, Reason: reasonNoContact}, notifier.Result{}
	switch {
	case told.unreadable:
		settlement = notices.Settlement{Outcome: notices.Failed, Reason: reasonUnreadable}
	case told.to != "":
		var end func()
		result, end = a.announce(ctx, claim.Notice.ID, nonce, told)
		defer end()
		settlement = a.settlementOf(claim, result)
	}
	held, err := a.settle(ctx, claim.Notice.ID, nonce, settlement, leave)
	if err != nil {
		return err
	}
	if !held {
		a.Logger.WarnContext(ctx, "the delivery of an alert was not recorded: its lease had run out and another worker"+
			" took it over, or it was erased meanwhile", "kind", kind)
		return nil
	}
	switch settlement.Outcome {
	case notices.Delivered:
		a.Metrics.Announced(kind)
	case notices.Failed, notices.Discarded:
		a.endedUntold(ctx, claim.Notice.ID, settlement.Reason, settlement.Outcome == notices.Failed, result.Err)
	case notices.Retried:
		a.failed(ctx, claim, settlement, result)
		if err := a.Queue.EnqueueNotice(ctx, claim.Notice.ID, settlement.RetryAt); err != nil {
			a.Logger.WarnContext(ctx, "the queue did not accept an alert: the outbox has it", "error", err)
		}
	}
	return nil
}

// announce sends a notice to its contact, and renews the lease meanwhile: a mail server may
// take minutes. Call end once the result is stored. A renewal that is under way by then changes
// nothing.
func (a *Announcements) announce(
	ctx context.Context, id, nonce string, told announcement,
) (result notifier.Result, end func()) {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	ctx, clean := notifier.WithCleanup(ctx)
	announcing, announced := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() {
		if !a.keep(announcing, id, nonce) {
			cancel()
		}
	})
	result = a.Announcer.Announce(ctx, told.to, told.notice)
	announced()
	return result, func() {
		clean()
		cancel()
		keeping.Wait()
	}
}

// keep renews the lease of an alert until ctx ends. It returns false before that if the try
// must be cut off: another worker has the notice, or the Grace of a stopping worker is over.
func (a *Announcements) keep(ctx context.Context, id, nonce string) bool {
	renewal := time.NewTicker(max(a.Lease/renewals, time.Millisecond))
	defer renewal.Stop()
	stopping, grace := a.Stopping, make(<-chan time.Time)
	for {
		select {
		case <-ctx.Done():
			return true
		case <-stopping:
			timer := time.NewTimer(a.Grace)
			defer timer.Stop()
			stopping, grace = nil, timer.C
		case <-grace:
			return false
		case <-renewal.C:
			try, done := context.WithTimeout(ctx, persist.TryWithin)
			held, err := a.Notices.Renew(try, id, nonce, a.Lease, time.Time{})
			done()
			if err != nil && ctx.Err() == nil {
				a.Logger.DebugContext(ctx, "could not renew the lease of an alert: trying again", "error", err)
			} else if err == nil && !held {
				return ctx.Err() != nil // the result may be stored already
			}
		}
	}
}

// failed counts and logs a try that will be repeated. A missing channel is logged once.
func (a *Announcements) failed(
	ctx context.Context, claim notices.Claim, settlement notices.Settlement, result notifier.Result,
) {
	if settlement.Unsent && !a.told.CompareAndSwap(false, true) {
		return
	}
	kind := string(claim.Notice.Kind)
	a.Metrics.AnnounceFailed(kind, settlement.Reason, false)
	a.Logger.WarnContext(ctx, "could not deliver an alert: trying again later", "kind", kind,
		"reason", settlement.Reason, "attempt", claim.Attempt, "error", result.Err)
}

// endedUntold counts and logs a notice that ended undelivered. The cause is the error of
// its last try, nil if unknown.
func (a *Announcements) endedUntold(ctx context.Context, id, reason string, failed bool, cause error) {
	notice, _ := notices.ParseID(id)
	if failed {
		a.Metrics.AnnounceFailed(string(notice.Kind), reason, true)
		logger := a.Logger
		if cause != nil {
			logger = logger.With("error", cause)
		}
		logger.WarnContext(ctx, "gave up an alert: it is among the dead letters", "kind", notice.Kind, "reason", reason)
		return
	}
	a.Metrics.AnnounceDropped(string(notice.Kind), reason)
	a.Logger.InfoContext(ctx, "dropped an alert", "kind", notice.Kind, "reason", reason)
}

// settlementOf returns the settlement of a try. A notice that may or may not have arrived
// is tried again too, with the same id.
func (a *Announcements) settlementOf(claim notices.Claim, result notifier.Result) notices.Settlement {
	switch {
	case result.Status == notifier.Delivered:
		return notices.Settlement{Outcome: notices.Delivered, ProviderID: result.ProviderID}
	case errors.Is(result.Err, notifier.ErrNoChannel) && claim.Now.Sub(claim.First) >= a.Kept:
		return notices.Settlement{Outcome: notices.Discarded, Reason: reasonNoChannel}
	case errors.Is(result.Err, notifier.ErrNoChannel):
		return notices.Settlement{
			Outcome: notices.Retried, RetryAt: a.Clock.Now().Add(channelPause), Unsent: true, Reason: reasonNoChannel,
		}
	case result.Status == notifier.Retry:
		next, again := a.Retries.Next(claim.Attempt, result.RetryAfter, claim.FirstFailed, a.Clock.Now())
		if again {
			return notices.Settlement{
				Outcome: notices.Retried, RetryAt: next.Truncate(time.Millisecond), Reason: string(result.Reason),
			}
		}
	}
	return notices.Settlement{Outcome: notices.Failed, Reason: string(result.Reason)}
}

// settle stores the result of a delivery, and repeats that until it succeeds: the notice would be
// sent again otherwise. It calls leave after the first failure.
func (a *Announcements) settle(ctx context.Context, id, nonce string, s notices.Settlement, leave func()) (bool, error) {
	failed := func(ctx context.Context, err error) {
		leave()
		a.Logger.WarnContext(ctx, "could not settle an alert: trying until it is stored", "error", err)
	}
	return persist.Settle(ctx, a.Ended, failed, func(ctx context.Context) (bool, error) {
		return a.Notices.Settle(ctx, id, nonce, s, time.Time{})
	})
}
