package serve

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// statsWithin bounds reading the store for the API's stats; statsFresh is how long its answer
	// is reused.
	statsWithin = 5 * time.Second
	statsFresh  = time.Second
)

// newStats returns a function that reads the API's stats and caches them for a moment.
func newStats(read func(context.Context) (message.Stats, error)) func(context.Context) (message.Stats, error) {
	type found struct {
		stats message.Stats
		err   error
	}
	answer := newShared(statsWithin, statsFresh, func(ctx context.Context) *found {
		stats, err := read(ctx)
		return &found{stats, err}
	})
	return func(ctx context.Context) (message.Stats, error) {
		f := answer.get(ctx)
		if f == nil {
			return message.Stats{}, store.Explain(ctx.Err(), "looking at the store")
		}
		return f.stats, f.err
	}
}
