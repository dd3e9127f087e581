package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// Relay hands the messages of the watch list over to the queue when they are due soon. It
// gives a new generation to messages that the queue lost, or whose worker died during the
// delivery, and enqueues that. Any number of relays may run at once: only one takes a message.
type Relay struct {
	Client  redis.UniversalClient
	Keys    keyspace.Keys
	Watch   *messages.WatchList
	Charges *quota.Charges
	Places  *messages.LostPlaces
	Turns   *turn.Turns
	Index   *find.Index
	Devices *devices.Store
	Queue   *queue.Queue
	Timers  *queue.Timers
	Clock   *storeclock.Clocks
	Learn   func(context.Context)       // learns the store's clock
	Follow  func(context.Context) error // continues what changes of users' settings do with messages
	Metrics *metrics.Metrics
	Tracer  tracing.Tracer
	Logger  *slog.Logger

	farLeft       bool   // the last look at the far lists failed
	unreadable    int    // entries of the watch list, at the last pass
	behind        bool   // hand-over was behind at the last pass
	mayNotRewrite bool   // Redis refuses to rewrite its log, and that was logged
	evicts        string // why the store evicts keys, at the last look; "" if it does not
	evicted       int64  // keys that its servers had evicted, when losses were last looked for
}

// Start runs the passes at these intervals until the returned function is called, which waits for
// running ones: over the watch list and the charges; over the log of Redis, its evictions and changed settings; over the places and the
// index of messages.
func (r *Relay) Start(ctx context.Context, watchEvery, logEvery, placesEvery time.Duration) func() {
	return job.Start(ctx, r.Logger, job.Periodic{
		Every: watchEvery, Soon: true, Failed: "could not look after every message: the next pass does",
		Run: func(ctx context.Context) error {
			r.Learn(ctx)
			if r.Clock.Stepped() != (storeclock.Step{}) {
				return nil // by a wrong clock nothing is due
			}
			if r.Turns.Taken(ctx, keyspace.WorkHandOver, watchEvery) {
				return nil
			}
			return r.pass(ctx)
		},
	}, job.Periodic{
		Every: watchEvery, Failed: "could not look after every charge: the next pass does",
		Run: r.Clock.UnlessStepped(func(ctx context.Context) error {
			if r.Turns.Taken(ctx, keyspace.WorkCharges, watchEvery) {
				return nil
			}
			return r.settleCharges(ctx)
		}),
	}, job.Periodic{
		Every: logEvery, Soon: true, Failed: "could not make Redis rewrite its append-only file: it may still end within a transaction",
		Run: r.rewriteLog,
	}, job.Periodic{
		Every: logEvery, Soon: true, Failed: "could not look whether the store evicts keys: a later look does",
		Run: func(ctx context.Context) error { return r.lookForEviction(ctx, logEvery/2) },
	}, job.Periodic{
		Every: logEvery, Soon: true, Failed: "could not move or drop every message that does not fit changed settings of its user: a later pass does",
		Run: r.Clock.UnlessStepped(func(ctx context.Context) error {
			return r.Turns.InTurn(ctx, keyspace.WorkSettings, logEvery/2, func() error { return r.Follow(ctx) })
		}),
	}, job.Periodic{
		Every: placesEvery, Failed: "could not look for the places of lost messages: a later pass does",
		Run: r.Clock.UnlessStepped(func(ctx context.Context) error { return r.freeLostPlaces(ctx, placesEvery/2) }),
	}, job.Periodic{
		Every: placesEvery, Failed: "could not sweep the index of messages and count devices: a later pass does",
		Run: func(ctx context.Context) error { return r.sweepIndex(ctx, placesEvery/2) },
	})
}

// pass hands over the messages that are due soon, and looks after the overdue ones.
func (r *Relay) pass(ctx context.Context) error {
	var handed, renewed atomic.Int64
	var soon collected
	first, most := true, 0
	far := r.bringNear(ctx)
	var room *atomic.Int64 // nil until something is due
	ask := func() (queue.Workload, error) { return r.Queue.Workload(ctx) }
	work := queue.Once(ask)
	working, span := ctx, tracing.Span{} // once something is due
	// Later entries are for the next pass: else this one would ask the queue for each of them.
	now := r.Clock.Now()
	err := each(ctx, func(perPartition int) ([]sendlimit.Timer, error) {
		if room != nil && room.Load() <= 0 {
			return nil, nil // the next pass goes on
		}
		due, unreadable, failed := r.Watch.Due(ctx, now, perPartition)
		if first {
			oldest := time.Duration(0)
			if len(due) > 0 {
				oldest = now.Sub(due[0].Due)
			}
			r.tellBehind(ctx, oldest)
			first = false
		}
		most = max(most, unreadable)
		if len(due) > 0 && room == nil {
			room = r.room(ctx)
			working, span = r.Tracer.HandOver(ctx)
		}
		work = queue.Once(ask)
		return due, failed
	}, byPartition, func(part []sendlimit.Timer) ([]sendlimit.Timer, error) {
		part, left := share(part, room)
		found, err := r.Watch.HandOver(working, part, time.Time{})
		if err != nil && !persist.Unavailable(err) {
			found.LookAfter = part // one of them is broken: look after the others
		} else if err != nil {
			return append(part, left...), err
		}
		soon.add(found.Soon)
		room.Add(int64(len(part) - len(found.Soon)))
		stays, err := r.lookAfterAll(working, found.LookAfter, work, &renewed)
		return slices.Concat(stays, found.NotDue, left), err // NotDue: another worker was first, or our clock is ahead
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

// farEvery is the time between two calls of BringNear. Four may fail before an entry comes too late
// to the near list.
const farEvery = time.Minute

// bringNear moves the messages that are due within minutes to where Due finds them, unless a relay
// did so in the last minute.
func (r *Relay) bringNear(ctx context.Context) error {
	if !r.farLeft {
		if mine, err := r.Turns.Take(ctx, keyspace.WorkFar, farEvery); err == nil && !mine {
			return nil
		}
	}
	_, err := r.Watch.BringNear(ctx, r.Clock.Now())
	r.farLeft = err != nil
	return err
}

// tellUnreadable reports how many due entries this program can't read, and warns if they have
// become more.
func (r *Relay) tellUnreadable(ctx context.Context, entries int) {
	r.Metrics.Unreadable(entries)
	if entries > r.unreadable {
		r.Logger.WarnContext(ctx, "the watch list has entries that this program can't read: it skips them,"+
			" and the newer worker that wrote them handles them", "entries", entries)
	}
	r.unreadable = entries
}

// lookAfterAll looks after messages, and returns those that it could not handle, and the first
// error. It ends early if the store is away.
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
