package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
)

// Timers sets the timers of messages: it puts each into the queue, and then confirms it. A
// confirmation notes in the watch list that the queue has the message. Many are written in
// one round trip, and nobody waits for them. A lost one costs only a needless look at the
// message.
type Timers struct {
	queue     *Queue
	confirmed *batch.Loop[messages.Queued]
	logger    *slog.Logger
}

// Timers returns the Timers for messages of a watch list. They write confirmations from
// Start until Close.
func (q *Queue) Timers(watch *messages.WatchList, logger *slog.Logger) *Timers {
	const together, backlog, within = 256, 8192, 5 * time.Second
	confirm := func(ctx context.Context, queued []messages.Queued) bool {
		if err := watch.Confirm(ctx, queued); err != nil {
			logger.WarnContext(ctx, "could not confirm queued messages: they will be looked after again",
				"messages", len(queued), "error", err)
			return false
		}
		return true
	}
	return &Timers{
		queue: q, logger: logger,
		confirmed: batch.NewLoop(batch.Options{Together: together, Backlog: backlog, Within: within}, confirm),
	}
}

// Start starts writing confirmations.
func (t *Timers) Start() { t.confirmed.Start() }

// Close writes the remaining confirmations and stops.
func (t *Timers) Close() { t.confirmed.Close() }

// Set sets the timer of one generation of a message. It only logs a failure: the watch list
// has the message.
func (t *Timers) Set(ctx context.Context, m messages.Queued) {
	if err := t.TrySet(ctx, m); err != nil {
		t.logger.WarnContext(ctx, "the queue did not take a message: the watch list has it", "error", err)
	}
}

// TrySet is Set for a caller that handles the failure.
func (t *Timers) TrySet(ctx context.Context, m messages.Queued) error {
	if err := t.queue.enqueueMessage(ctx, m); err != nil {
		return err
	}
	t.confirmed.Add(m)
	return nil
}
