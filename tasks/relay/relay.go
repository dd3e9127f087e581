package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// Relay hands the messages of the watch list over to the queue when they are due soon. It
// also looks after those that the queue lost, or that a worker left in the middle of a
// delivery: it gives them a new generation and enqueues that. Any number of relays may run
// at once: only one takes a message.
type Relay struct {
	Watch   *messages.WatchList
	Charges *quota.Charges
	Places  *messages.LostPlaces
	Index   *find.Index
	Devices *devices.Store
	Queue   *queue.Queue
	Timers  *queue.Timers
	Clock   *storeclock.Clocks
	Learn   func(context.Context) // learns the store's clock
	Memory  func(context.Context) ([]store.Memory, error)
	Rewrite func(context.Context) (int, error) // see store.RewriteLogs
	Metrics *metrics.Metrics
	Tracer  tracing.Tracer
	Logger  *slog.Logger

	farLeft    bool // whether the last look at the far lists failed
	unreadable int  // entries of the watch list, at the last pass
	behind     bool // whether hand-over was behind at the last pass

	mayNotRewrite bool // whether Redis refuses to rewrite its log
}

// Start looks at the watch list and the charges, at the log of Redis, and at the places with the
// index of messages at these intervals, until the returned function is called. That function waits for running
// passes to end.
func (r *Relay) Start(ctx context.Context, watchEvery, logEvery, placesEvery time.Duration) func() {
	turn := max(watchEvery*2/5, time.Millisecond)
	return job.Start(ctx, r.Logger, job.Periodic{
		Every: watchEvery, Soon: true, Failed: "could not look after every message: the next pass does",
		Run: func(ctx context.Context) error {
			r.Learn(ctx)
			if r.Clock.Stepped() != (storeclock.Step{}) {
				return nil // what is due by its clock may not be
			}
			// A turn is shorter than the least time between two runs. Where the turns are
			// kept may be away, while others answer.
			if mine, err := r.Watch.Turn(ctx, turn); err == nil && !mine {
				return nil
			}
			return r.pass(ctx)
		},
	}, job.Periodic{
		Every: watchEvery, Failed: "could not look after every charge: the next pass does",
		Run: func(ctx context.Context) error {
			if r.Clock.Stepped() != (storeclock.Step{}) {
				return nil
			}
			if mine, err := r.Charges.Turn(ctx, turn); err == nil && !mine {
				return nil
			}
			return r.settleCharges(ctx)
		},
	}, job.Periodic{
		Every: logEvery, Soon: true, Failed: "could not have the append-only file of Redis rewritten: what a power cut has torn stays in it",
		Run: r.rewriteLog,
	}, job.Periodic{
		Every: placesEvery, Failed: "could not look for the places of lost messages: a later pass does",
		Run: func(ctx context.Context) error {
			if r.Clock.Stepped() != (storeclock.Step{}) {
				return nil
			}
			return r.freeLostPlaces(ctx, placesEvery/2)
		},
	}, job.Periodic{
		Every: placesEvery, Failed: "could not look for stale entries of the index of messages, and count devices anew: a later pass does",
		Run: func(ctx context.Context) error { return r.sweepIndex(ctx, placesEvery/2) },
	})
}

// pass hands over what is due soon, and looks after the rest of what is due.
func (r *Relay) pass(ctx context.Context) error {
	var handed, renewed atomic.Int64
	var soon collected
	first, most := true, 0
	far := r.bringNear(ctx)
	var room *atomic.Int64 // nil until something is due
	work := r.askForWork(ctx)
	working, span := ctx, tracing.Span{} // of what is due, if anything is
	err := each(ctx, func(perPartition int) ([]sendlimit.Timer, error) {
		if room != nil && room.Load() <= 0 {
			return nil, nil // the next pass goes on
		}
		now := r.Clock.Now()
		due, unreadable, failed := r.Watch.Due(ctx, now, perPartition)
		if first {
			oldest := time.Duration(0)
			if len(due) > 0 {
				oldest = now.Sub(due[0].Due)
			}
			r.Metrics.Overdue(oldest)
			r.tellBehind(ctx, oldest)
			first = false
		}
		most = max(most, unreadable)
		if len(due) > 0 && room == nil {
			room = r.room(ctx)
			working, span = r.Tracer.HandOver(ctx)
		}
		work = r.askForWork(ctx)
		return due, failed
	}, byPartition, func(part []sendlimit.Timer) ([]sendlimit.Timer, error) {
		part, left := share(part, room)
		found, err := r.Watch.HandOver(working, part, time.Time{})
		if err != nil && !persist.Unavailable(err) {
			found.LookAfter = part // one of them is broken: the others are looked after
		} else if err != nil {
			return append(part, left...), err
		}
		soon.add(found.Soon)
		room.Add(int64(len(part) - len(found.Soon)))
		stays, err := r.lookAfterAll(working, found.LookAfter, work, &renewed)
		return slices.Concat(stays, found.NotDue, left), err // what is not due has another worker, or our clock is ahead
	}, func() error {
		set, err := r.Timers.TrySetAll(working, soon.take())
		handed.Add(int64(set))
		return err
	})
	if err != nil {
		span.Fail("unavailable")
	}
	span.EndHandOver(int(handed.Load() + renewed.Load()))
	r.tellUnreadable(ctx, most)
	r.Metrics.HandedOver(int(handed.Load()))
	r.Metrics.Relayed(int(renewed.Load()))
	if renewed.Load() > 0 {
		r.Logger.InfoContext(ctx, "put messages back into the queue", "messages", renewed.Load())
	}
	return errors.Join(far, err)
}

// askForWork returns a function that asks the queue once what it is working on.
func (r *Relay) askForWork(ctx context.Context) func() (queue.Workload, error) {
	return askOnce(func() (queue.Workload, error) { return r.Queue.Workload(ctx) })
}

// bringNear moves what is due within minutes to where Due finds it, unless a relay did so in
// the last minute.
func (r *Relay) bringNear(ctx context.Context) error {
	if !r.farLeft {
		if mine, err := r.Watch.FarTurn(ctx); err == nil && !mine {
			return nil
		}
	}
	_, err := r.Watch.BringNear(ctx, r.Clock.Now())
	r.farLeft = err != nil
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

// lookAfterAll looks after messages, and returns those that it leaves, and the first error.
// It ends early if the store is away.
func (r *Relay) lookAfterAll(
	ctx context.Context, entries []sendlimit.Timer, ask func() (queue.Workload, error), renewed *atomic.Int64,
) (left []sendlimit.Timer, failed error) {
	if len(entries) == 0 {
		return nil, nil
	}
	work, err := ask()
	if err != nil {
		return entries, err
	}
	for i, entry := range entries {
		result, err := r.lookAfter(ctx, entry, work)
		if failed == nil || persist.Unavailable(err) {
			failed = err
		}
		switch {
		case persist.Unavailable(err):
			return append(left, entries[i:]...), err
		case err != nil:
			left = append(left, entry)
		case result == messages.Renewed:
			renewed.Add(1)
		case result == messages.NotDue: // our clock is ahead: the next pass looks again
			left = append(left, entry)
		}
	}
	return left, failed
}

// lookAfter looks after one message.
func (r *Relay) lookAfter(ctx context.Context, entry sendlimit.Timer, work queue.Workload) (messages.Renewal, error) {
	queued, err := r.Queue.Has(ctx, entry.User, entry.Generation, work)
	if err != nil {
		return messages.Deferred, err
	}
	generation := keyspace.NewToken()
	result, renewed, err := r.Watch.Renew(ctx, entry, generation, queued, time.Time{})
	if err != nil || result != messages.Renewed {
		return result, err
	}
	if now := r.Clock.OfUser(entry.User).Now(); renewed.Due.Before(now) {
		renewed.Due = now
	}
	if err := r.Timers.TrySet(ctx, renewed); err != nil {
		return result, fmt.Errorf("putting a message back into the queue: %w", err)
	}
	return result, nil
}
