package serve

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/overview"
)

const (
	// statsWithin bounds a look at the store for the API's stats; statsFresh is how
	// long its answer is reused.
	statsWithin = 5 * time.Second
	statsFresh  = time.Second
)

// newStats returns a function that reads the API's stats.
func newStats(client redis.UniversalClient, prefix, version string) (func(context.Context) (message.Stats, error), error) {
	reader, err := overview.NewStats(client, prefix)
	if err != nil {
		return nil, err
	}
	type found struct {
		stats message.Stats
		err   error
	}
	answer := newShared(statsWithin, statsFresh, func(ctx context.Context) *found {
		read, err := reader.Read(ctx)
		read.Version = version
		return &found{read, err}
	})
	return func(ctx context.Context) (message.Stats, error) {
		f := answer.get(ctx)
		if f == nil {
			return message.Stats{}, store.Explain(ctx.Err(), "looking at the store")
		}
		return f.stats, f.err
	}, nil
}
