package queue

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// Timers sets the timers of messages: it puts each into the queue, and then confirms it. A
// confirmation notes in the watch list that the queue has the message. Many are written in one
// round trip, and no caller waits for them. A lost one only costs a needless check of the message.
//
// A timer that could not be set is retried until the relay handles the message.
//
// Timers also delete the tasks of superseded generations, in the same way. A task that stays does
// no harm: it ends at its time, and nothing is sent.
type Timers struct {
	queue      *Queue
	watch      *messages.WatchList
	confirmed  *batch.Loop[sendlimit.Timer]
	unset      *batch.Loop[unset]
	superseded *batch.Loop[placed]
	logger     *slog.Logger
}

// confirmWithin bounds a confirmation, and the deletion of superseded tasks.
const confirmWithin = 5 * time.Second

// unset is a message that the queue did not accept.
type unset struct {
	sendlimit.Timer

	tries int // that are left, until the relay looks after it
}

// setAgainEvery is the time between two tries to set the timers that could not be set.
const setAgainEvery = time.Second

// Timers returns the Timers for messages of a watch list. They write confirmations, try
// again and delete tasks from Start until Close.
func (q *Queue) Timers(watch *messages.WatchList, logger *slog.Logger) *Timers {
	const together, backlog = 256, 8192
	t := &Timers{queue: q, watch: watch, logger: logger}
	remove := func(ctx context.Context, tasks []placed) bool {
		if err := q.deleteTasks(ctx, tasks); err != nil {
			logger.WarnContext(ctx, "could not delete superseded tasks: they end at their time, and nothing is sent",
				"tasks", len(tasks), "error", err)
			return false
		}
		return true
	}
	options := batch.Options{Together: together, Backlog: backlog, Within: confirmWithin}
	t.confirmed, t.superseded = batch.NewLoop(options, t.confirm), batch.NewLoop(options, remove)
	t.unset = batch.NewLoop(batch.Options{Backlog: backlog, Within: confirmWithin, Every: setAgainEvery}, t.setAgain)
	return t
}

// setAgain retries timers that could not be set. If that fails, it keeps all of them for the next
// time, as the queue accepts a generation only once. It drops those that the relay handles by then.
func (t *Timers) setAgain(ctx context.Context, waiting []unset) bool {
	if len(waiting) == 0 {
		return true
	}
	queued := make([]sendlimit.Timer, len(waiting))
	for i, u := range waiting {
		queued[i] = u.Timer
	}
	if _, err := t.TrySetAll(ctx, queued); err == nil {
		return true
	}
	for _, u := range waiting {
		if u.tries--; u.tries > 0 {
			t.unset.Add(u)
		}
	}
	return false
}

// confirm notes that the queue has messages. It reports false and logs it if that fails.
func (t *Timers) confirm(ctx context.Context, queued []sendlimit.Timer) bool {
	if err := t.watch.Confirm(ctx, queued); err != nil {
		t.logger.WarnContext(ctx, "could not confirm queued messages: they will be looked after again",
			"messages", len(queued), "error", err)
		return false
	}
	return true
}

// Start starts writing confirmations and deleting tasks.
func (t *Timers) Start() {
	t.confirmed.Start()
	t.superseded.Start()
	t.unset.Start()
}

// Close tries once more to set the remaining timers, writes the remaining confirmations,
// deletes the remaining tasks, and stops.
func (t *Timers) Close() {
	t.unset.Close()
	t.confirmed.Close()
	t.superseded.Close()
}

// Set sets the timer of one generation of a message, if it is due within the horizon of now. Later
// messages are handed over from the watch list. A failure is only logged: the timer is retried
// soon, and the relay finds the message.
func (t *Timers) Set(ctx context.Context, m sendlimit.Timer, now time.Time) {
	if m.Due.Sub(now) > t.watch.Horizon() {
		return
	}
	name, err := t.queue.queueFor(ctx, m)
	ctx, span := tracing.HandOverOne(ctx, name)
	defer span.End()
	if err == nil {
		err = t.set(ctx, name, m)
	}
	if err != nil {
		span.Fail("unavailable")
		t.logger.WarnContext(ctx, "the queue did not take a message: the watch list has it", "error", err)
		t.unset.Add(unset{m, int(t.watch.LookAfter() / setAgainEvery)})
	}
}

// TrySet sets a timer, whenever the message is due, for a caller that handles the failure.
func (t *Timers) TrySet(ctx context.Context, m sendlimit.Timer) error {
	name, err := t.queue.queueFor(ctx, m)
	if err != nil {
		return err
	}
	return t.set(ctx, name, m)
}

// set puts the timer into a queue.
func (t *Timers) set(ctx context.Context, name string, m sendlimit.Timer) error {
	if err := t.queue.enqueueOne(ctx, name, m, t.queue.early(m)); err != nil {
		return err
	}
	t.confirmed.Add(m)
	return nil
}

const (
	// setAtOnce is how many tasks TrySetAll puts into one queue at a time.
	setAtOnce = 16
	// queuesAtOnce is how many queues TrySetAll puts tasks into at a time.
	queuesAtOnce = 4
)

// TrySetAll sets the timers of messages for a caller that handles a failure. Messages of a queue
// that are due together share a task. It returns how many it set, and the first error. After an
// error, it puts no more into the same queue. It confirms the set timers before it returns.
func (t *Timers) TrySetAll(ctx context.Context, queued []sendlimit.Timer) (set int, failed error) {
	chosen, err := t.queue.spread.shares(ctx)
	if err != nil {
		return 0, err
	}
	var done atomic.Int64
	var setters errgroup.Group
	setters.SetLimit(queuesAtOnce)
	for name, part := range t.queue.spread.perQueue(chosen, queued, t.queue.answering.local()) {
		setters.Go(func() error { return t.setAll(ctx, name, part, &done) })
	}
	failed = setters.Wait()
	return int(done.Load()), failed
}

// setAll is TrySetAll for the messages of one queue. It adds the number of set timers to done.
func (t *Timers) setAll(ctx context.Context, name string, queued []sendlimit.Timer, done *atomic.Int64) error {
	setters, running := errgroup.WithContext(ctx)
	setters.SetLimit(setAtOnce)
	for together := range t.queue.together(queued) {
		if running.Err() != nil {
			break
		}
		setters.Go(func() error {
			if err := t.queue.enqueueTogether(running, name, together, t.queue.early(together[0])); err != nil {
				return err
			}
			done.Add(int64(len(together)))
			confirming, end := context.WithTimeout(ctx, confirmWithin)
			defer end()
			t.confirm(confirming, together)
			return nil
		})
	}
	return setters.Wait()
}

// Unset deletes the task of a superseded generation of a message soon, if it is still scheduled. A
// due task needs no deletion, and a message that is due after the horizon has no task. A timer in a
// shared task or in a lane stays: the claim finds it stale.
func (t *Timers) Unset(ctx context.Context, s sendlimit.Timer, now time.Time) {
	// The queue keeps whole seconds, cut off.
	if s.Generation != "" && s.Due.Sub(now) <= t.watch.Horizon() && s.Due.Add(-t.queue.Lead()).Truncate(time.Second).After(now) {
		if name, err := t.queue.ofUser(ctx, s.User); err == nil {
			t.superseded.Add(placed{name, s.Generation})
		}
	}
}
