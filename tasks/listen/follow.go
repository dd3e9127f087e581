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

const (
	// followEvery is how often a Follower loads the listeners.
	followEvery = time.Second
	// followWithin is how long the store may take to answer.
	followWithin = time.Second
)

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

// Follow loads the listeners once a second until the returned function is called. If that fails, the
// known ones stay.
func (f *Follower) Follow(ctx context.Context) (stop func()) {
	return job.Repeat(ctx, followEvery, func(ctx context.Context) {
		asking, done := context.WithTimeout(ctx, followWithin)
		defer done()
		if err := f.Load(asking); err != nil && ctx.Err() == nil {
			f.logger.DebugContext(ctx, "could not load the listeners of events: keeping the known ones", "error", err)
		}
	})
}
