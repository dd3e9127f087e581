package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// waitFor is how many times Polling.idle a worker waits for one arrival, and then again.
const waitFor = 5

// arrivals tell idle workers that a program has put a task into a queue: it adds an entry to a
// stream, which they read with a blocking call. All copies of a Queue share it. An entry that is
// lost delays a task by at most Polling.lookEvery.
type arrivals struct {
	key   string
	idle  time.Duration // Polling.idle
	local func() time.Time
	fresh chan struct{} // gets an element when a task comes after none had for idle

	mu      sync.Mutex
	told    time.Time // when this program last added an entry, local
	seen    time.Time // when it last added or read one, local
	waiting time.Time // when its last wait for one began, local
	since   time.Time // since when it misses none, local; zero while it can't wait
	last    string    // the last entry that it read
}

func newArrivals(prefix string, idle time.Duration, fresh chan struct{}) *arrivals {
	return &arrivals{
		key: keyspace.KeysUnder(prefix).Arrivals(), idle: idle, fresh: fresh, local: storeclock.New().Local,
		last: "0-0", // an entry from before the start counts: it does no harm
	}
}

// tell tells all workers of a task that was put into a queue. Workers that were told remain awake
// for a while, so it calls the store only twice in that time.
func (a *arrivals) tell(ctx context.Context, client redis.UniversalClient) {
	now := a.local()
	a.mu.Lock()
	a.see(now)
	lately := !a.told.IsZero() && now.Sub(a.told) < a.idle/2
	if !lately {
		a.told = now
	}
	a.mu.Unlock()
	if lately {
		return
	}
	ctx, done := context.WithTimeout(ctx, EnqueueWithin)
	defer done()
	client.XAdd(ctx, &redis.XAddArgs{Stream: a.key, MaxLen: 1, Values: []string{"task", ""}}) // without it workers find the task later
}

// see notes that a task has come. The caller has the lock.
func (a *arrivals) see(now time.Time) {
	if now.Sub(a.seen) >= a.idle {
		select {
		case a.fresh <- struct{}{}:
		default:
		}
	}
	a.seen = now
}

// wait waits until a program tells of a task, for some time or until ctx ends.
func (a *arrivals) wait(ctx context.Context, client redis.UniversalClient) error {
	a.mu.Lock()
	if a.waiting = a.local(); a.since.IsZero() {
		a.since = a.waiting
	}
	args := &redis.XReadArgs{Streams: []string{a.key, a.last}, Count: 1, Block: waitFor * a.idle}
	a.mu.Unlock()
	read := make(chan error, 1)
	go func() { // a blocking read does not end with its context
		found, err := client.XRead(ctx, args).Result()
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case err == nil && len(found) == 1 && len(found[0].Messages) == 1:
			a.last = found[0].Messages[0].ID
			a.see(a.local())
		case errors.Is(err, redis.Nil):
			err = nil
		}
		if err != nil {
			a.since = time.Time{}
		}
		read <- err
	}()
	select {
	case err := <-read:
		return store.Explain(err, "waiting for tasks")
	case <-ctx.Done():
		return nil
	}
}

// noneSince reports whether no task has come since a time. It reports false if this program would
// not know: a wait that lasts too long has lost its server.
func (a *arrivals) noneSince(since time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	waits := !a.since.IsZero() && a.since.Before(since) && a.local().Sub(a.waiting) <= (waitFor+1)*a.idle
	return waits && a.seen.Before(since)
}

// startWaiting waits for arrivals until stop is called.
func (s *Server) startWaiting(ctx context.Context) (stop func()) {
	return job.Background(ctx, func(ctx context.Context) {
		for away := false; ctx.Err() == nil; {
			err := s.queue.arrivals.wait(ctx, s.queue.redis)
			if err != nil && !away {
				s.options.Logger.WarnContext(ctx, "could not wait for tasks: this worker asks Redis for them all the time", "error", err)
			}
			if away = err != nil; away {
				storeclock.Sleep(ctx, nil, s.queue.polling.idle())
			}
		}
	})
}
