package job

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// LookEvery is the time between two looks.
	LookEvery = time.Second
	// lookWithin bounds a look.
	lookWithin = 5 * time.Second
)

// Ask adds reads to a pipeline, and returns the function that learns from the replies. That gets the
// store's time before the reads, zero if they failed.
type Ask func(ctx context.Context, pipe redis.Cmdable) (learn func(ctx context.Context, now time.Time) error)

// Looks repeats the reads of several parts of a program: all in one round trip, from which it also learns
// the store's clock. In a cluster each part makes its own, so that a master that does not answer delays no
// other part. It is safe for concurrent use.
type Looks struct {
	client redis.UniversalClient
	clock  *storeclock.Clock

	mu   sync.Mutex
	next []*look
}

// look is what one part reads in the next round trip.
type look struct {
	ask   Ask
	learn func(ctx context.Context, now time.Time) error
	now   time.Time
	done  chan struct{} // closed once there are replies
}

// NewLooks returns the looks at the store behind client, with its main clock. Call Start.
func NewLooks(client redis.UniversalClient, clock *storeclock.Clock) *Looks {
	return &Looks{client: client, clock: clock}
}

// Start looks every LookEvery until the returned function is called.
func (l *Looks) Start(ctx context.Context) (stop func()) {
	return Background(ctx, func(ctx context.Context) {
		tick := time.NewTicker(LookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				l.look(ctx)
			}
		}
	})
}

// Repeat makes the reads of ask in every look until the returned function is called, and calls then with
// the error of each. A part whose then takes long misses looks, and delays no other. alone does the same as
// ask in a round trip of its own.
func (l *Looks) Repeat(ctx context.Context, alone func(context.Context) error, ask Ask, then func(context.Context, error)) (stop func()) {
	if _, cluster := l.client.(*redis.ClusterClient); cluster {
		return Repeat(ctx, LookEvery, func(ctx context.Context) { then(ctx, alone(ctx)) })
	}
	return Background(ctx, func(ctx context.Context) {
		for {
			mine := &look{ask: ask, done: make(chan struct{})}
			l.mu.Lock()
			l.next = append(l.next, mine)
			l.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-mine.done:
			}
			if ctx.Err() != nil {
				return
			}
			then(ctx, mine.learn(ctx, mine.now))
		}
	})
}

func (l *Looks) look(ctx context.Context) {
	l.mu.Lock()
	looks := l.next
	l.next = nil
	l.mu.Unlock()
	if len(looks) == 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, lookWithin)
	defer done()
	pipe := l.client.Pipeline()
	clock := pipe.Time(ctx)
	for _, one := range looks {
		one.learn = one.ask(ctx, pipe)
	}
	sent := l.clock.Local()
	cmds, err := pipe.Exec(ctx)
	now := clock.Val()
	if now.IsZero() { // without a connection, the commands have no error of their own
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
	} else {
		l.clock.Learn(sent, l.clock.Local(), now)
	}
	for _, one := range looks {
		one.now = now
		close(one.done)
	}
}
