package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	Places  *messages.LostPlaces
	Queue   *queue.Queue
	Timers  *queue.Timers
	Clock   *storeclock.Clock
	Learn   func(context.Context) // learns the store's clock
	Metrics *metrics.Metrics
	Logger  *slog.Logger

	unreadable int // entries of the watch list, at the last pass
}

// Start looks at the watch list, the charges and the places at these intervals, until the
// returned function is called. That function waits for running passes to end.
func (r *Relay) Start(ctx context.Context, watchEvery, chargesEvery, placesEvery time.Duration) func() {
	return jobs.Start(ctx, r.Logger, jobs.Job{
		Every: watchEvery, Failed: "could not look after every message: the next pass does",
		Run: func(ctx context.Context) error {
			r.Learn(ctx)
			if r.Clock.Stepped() != (storeclock.Step{}) {
				return nil // what is due by its clock may not be
			}
			return r.pass(ctx)
		},
	}, jobs.Job{
		Every: chargesEvery, Failed: "could not look after every charge: the next pass does",
		Run: func(ctx context.Context) error {
			if r.Clock.Stepped() != (storeclock.Step{}) {
				return nil
			}
			return r.settleCharges(ctx)
		},
	}, jobs.Job{
		Every: placesEvery, Failed: "could not look for the places of lost messages: a later pass does",
		Run: func(ctx context.Context) error {
			if r.Clock.Stepped() != (storeclock.Step{}) {
				return nil
			}
			return r.freeLostPlaces(ctx, placesEvery/2)
		},
	})
}

// pass looks after all due messages.
func (r *Relay) pass(ctx context.Context) error {
	var work queue.Workload
	var renewed atomic.Int64
	first, most := true, 0
	err := each(ctx, func(perPartition int) ([]messages.Watched, error) {
		now := r.Clock.Now()
		due, unreadable, failed := r.Watch.Due(ctx, now, perPartition)
		if first {
			oldest := time.Duration(0)
			if len(due) > 0 {
				oldest = now.Sub(due[0].Since)
			}
			r.Metrics.Overdue(oldest)
			first = false
		}
		most = max(most, unreadable)
		if len(due) == 0 {
			return nil, failed
		}
		var err error
		if work, err = r.Queue.Workload(); err != nil {
			return nil, errors.Join(failed, err)
		}
		return due, failed
	}, func(entry messages.Watched) (bool, error) {
		result, err := r.lookAfter(ctx, entry, work)
		if result == messages.Renewed && err == nil {
			renewed.Add(1)
		}
		return result != messages.NotDue, err // then our clock is ahead: the next pass looks again
	})
	r.tellUnreadable(ctx, most)
	r.Metrics.Relayed(int(renewed.Load()))
	if renewed.Load() > 0 {
		r.Logger.InfoContext(ctx, "put messages back into the queue", "messages", renewed.Load())
	}
	return err
}

// tellUnreadable says how many due entries this program can't read, and warns if there are
// more of them than before.
func (r *Relay) tellUnreadable(ctx context.Context, entries int) {
	r.Metrics.Unreadable(entries)
	if entries > r.unreadable {
		r.Logger.WarnContext(ctx, "the watch list has entries that this program can't read: it passes them over;"+
			" a newer worker looks after what it wrote", "entries", entries)
	}
	r.unreadable = entries
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
