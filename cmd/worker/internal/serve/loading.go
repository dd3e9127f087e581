package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
)

// loadingPause is how long a worker waits before it checks a loading Redis again.
const loadingPause = 500 * time.Millisecond

// inspect checks the store once it has loaded its data: after a restart of the machine, worker and
// Redis start together.
func inspect(ctx context.Context, client redis.UniversalClient, logger *slog.Logger) (store.Report, error) {
	pause := time.NewTicker(loadingPause)
	defer pause.Stop()
	for told := false; ; told = true {
		report, err := store.Inspect(ctx, client)
		if !redis.IsLoadingError(err) {
			return report, err
		}
		if !told {
			logger.WarnContext(ctx, "Redis is still loading its data: waiting")
		}
		select {
		case <-ctx.Done():
			return report, err
		case <-pause.C:
		}
	}
}
