package serve

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// pingEvery is how often the store is asked whether it is there, pingWithin how long
	// it may take to answer.
	pingEvery  = 2 * time.Second
	pingWithin = 2 * time.Second
)

// watchStore logs when the store stops answering, and when it is back, until the returned
// function is called.
func watchStore(ctx context.Context, client redis.Cmdable, every time.Duration, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		var since time.Time // when the outage was noticed; zero if there is none
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			err := pingStore(ctx, client)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil && since.IsZero():
				since = time.Now()
				logger.WarnContext(ctx, "Redis does not answer", "error", err)
			case err == nil && !since.IsZero():
				logger.InfoContext(ctx, "Redis is back", "after", time.Since(since).Round(time.Millisecond))
				since = time.Time{}
			}
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

func pingStore(ctx context.Context, client redis.Cmdable) error {
	ctx, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	return client.Ping(ctx).Err() //nolint:wrapcheck // it is logged
}
