package listen

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
)

// loadWithin is how long the store of a cluster may take to answer.
const loadWithin = time.Second

// Follower tells the scripts of a program which accounts listen. It is safe for concurrent use.
type Follower struct {
	Subscribers *sendlimit.Subscribers // for all that changes messages in the program

	listeners *events.Listeners
	logger    *slog.Logger
}

// NewFollower returns a follower that knows no listeners yet. The options are those of the
// events.Log. The error is an *InvalidError.
func NewFollower(client redis.Cmdable, o events.Options, logger *slog.Logger) (*Follower, error) {
	if err := o.WithDefaults().Validate(); err != nil {
		return nil, err
	}
	listeners := events.NewListeners(client, keyspace.KeysUnder(o.Prefix))
	return &Follower{Subscribers: sendlimit.NewSubscribers(o.WithDefaults().Keep), listeners: listeners, logger: logger}, nil
}

// Load loads the listeners.
func (f *Follower) Load(ctx context.Context) error {
	listening, err := f.listeners.Load(ctx)
	if err != nil {
		return fmt.Errorf("loading the listeners of events: %w", err)
	}
	f.Subscribers.Set(listening.Accounts())
	return nil
}

// Follow loads the listeners in every look until the returned function is called. If that fails, the
// known ones stay.
func (f *Follower) Follow(ctx context.Context, looks *job.Looks) (stop func()) {
	alone := func(ctx context.Context) error {
		ctx, done := context.WithTimeout(ctx, loadWithin)
		defer done()
		return f.Load(ctx)
	}
	return looks.Repeat(ctx, alone, f.ask, func(ctx context.Context, err error) {
		if err != nil && ctx.Err() == nil {
			f.logger.DebugContext(ctx, "could not load the listeners of events: keeping the known ones", "error", err)
		}
	})
}

func (f *Follower) ask(ctx context.Context, pipe redis.Cmdable) func(context.Context, time.Time) error {
	load := f.listeners.Ask(ctx, pipe)
	return func(_ context.Context, now time.Time) error {
		listening, err := load(now)
		if err == nil {
			f.Subscribers.Set(listening.Accounts())
		}
		return err
	}
}
