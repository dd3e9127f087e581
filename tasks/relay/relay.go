package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/tasks/internal/jobs"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Relay looks after due messages of the watch list: the queue never got or lost their
// task, or a worker left them in the middle of a delivery. It gives them a new generation
// and enqueues that. Any number of relays may run at once: only one renews a message.
type Relay struct {
	Watch   *messages.WatchList
	Charges *quota.Charges
	Queue   *queue.Queue
	Timers  *queue.Timers
	Clock   *storeclock.Clock
	Learn   func(context.Context) // learns the store's clock
	Metrics *metrics.Metrics
	Logger  *slog.Logger
}

const (
	// perPartition is how many due entries of a partition a relay reads at a time, and
	// together how many it works on at once.
	perPartition = 100
	together     = 32
)

// Start looks at the watch list and at the charges at these intervals, until the returned
// function is called. That function waits for running passes to end.
func (r *Relay) Start(ctx context.Context, watchEvery, chargesEvery time.Duration) func() {
	return jobs.Start(ctx, r.Logger, jobs.Job{
		Every: watchEvery, Failed: "could not look after every message: the next pass does",
		Run: func(ctx context.Context) error {
			r.Learn(ctx)
			return r.pass(ctx)
		},
	}, jobs.Job{
		Every: chargesEvery, Failed: "could not look after every charge: the next pass does", Run: r.settleCharges,
	})
}

// pass looks after all due messages, until none is due or none moves.
func (r *Relay) pass(ctx context.Context) error {
	for first := true; ; first = false {
		now := r.Clock.Now()
		due, unread := r.Watch.Due(ctx, now, perPartition)
		if first {
			oldest := time.Duration(0)
			if len(due) > 0 {
				oldest = now.Sub(due[0].Since)
			}
			r.Metrics.Overdue(oldest)
		}
		if len(due) == 0 {
			return unread
		}
		work, err := r.Queue.Workload()
		if err != nil {
			return errors.Join(unread, err)
		}
		moved, err := r.lookAfterAll(ctx, due, work)
		if err = errors.Join(unread, err); err != nil || moved == 0 {
			return err
		}
	}
}

// lookAfterAll looks after messages, several at a time. It returns how many need no second
// look, and the first error.
func (r *Relay) lookAfterAll(ctx context.Context, due []messages.Watched, work queue.Workload) (int, error) {
	var moved, renewed atomic.Int64
	var failed error
	var once sync.Once
	var workers sync.WaitGroup
	entries := make(chan messages.Watched)
	for range min(together, len(due)) {
		workers.Go(func() {
			for entry := range entries {
				result, err := r.lookAfter(ctx, entry, work)
				if err != nil {
					once.Do(func() { failed = err })
					continue
				}
				switch result {
				case messages.NotDue: // our clock is ahead: the next pass looks again
					continue
				case messages.Renewed:
					renewed.Add(1)
				case messages.Gone, messages.Deferred:
				}
				moved.Add(1)
			}
		})
	}
	for _, entry := range due {
		if ctx.Err() != nil {
			break
		}
		entries <- entry
	}
	close(entries)
	workers.Wait()
	r.Metrics.Relayed(int(renewed.Load()))
	if renewed.Load() > 0 {
		r.Logger.InfoContext(ctx, "put messages back into the queue", "messages", renewed.Load())
	}
	return int(moved.Load()), errors.Join(failed, ctx.Err())
}

// lookAfter looks after one message.
func (r *Relay) lookAfter(ctx context.Context, entry messages.Watched, work queue.Workload) (messages.Renewal, error) {
	queued, err := r.Queue.Has(entry.Generation, work)
	if err != nil {
		return messages.Deferred, err
	}
	generation := keyspace.NewToken()
	result, due, err := r.Watch.Renew(ctx, entry, generation, queued, time.Time{})
	if err != nil || result != messages.Renewed {
		return result, err
	}
	if now := r.Clock.Now(); due.Before(now) {
		due = now
	}
	q := messages.Queued{User: entry.User, ID: entry.ID, Generation: generation, Due: due}
	if err := r.Timers.TrySet(ctx, q); err != nil {
		return result, fmt.Errorf("putting a message back into the queue: %w", err)
	}
	return result, nil
}
