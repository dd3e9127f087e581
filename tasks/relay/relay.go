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

// Relay looks after the messages of the watch list whose time has come: those
// that the queue never got or has lost, and those that a worker left in the
// middle of a delivery. It gives them a new generation and hands that to the
// queue. Any number of relays may run at once: of each message one renews it.
type Relay struct {
	Watch   *messages.WatchList
	Charges *quota.Charges
	Queue   *queue.Queue
	Timers  *queue.Timers
	Clock   *storeclock.Clock
	Learn   func(context.Context) // the store's clock
	Metrics *metrics.Metrics
	Logger  *slog.Logger
}

const (
	// perPass is how many entries a relay takes of a partition at a time, and
	// together how many it works on at once.
	perPass  = 100
	together = 32
)

// Start looks at the watch list and at the charges every so often, until the
// function that it returns is called, which waits for what runs to end.
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

// pass looks after everything that is due, until nothing is or nothing moves.
func (r *Relay) pass(ctx context.Context) error {
	for first := true; ; first = false {
		now := r.Clock.Now()
		due, unread := r.Watch.Due(ctx, now, perPass)
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

// lookAfterAll looks after messages, several at a time, and returns how many it
// need not look at again, and what failed first.
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
				case messages.NotDue: // our clock is ahead: the next pass is soon enough
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
