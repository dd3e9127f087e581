package serve

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
)

// clockTolerance is how far the clocks of store and worker may differ without a warning.
const clockTolerance = 500 * time.Millisecond

// checkClock warns if this machine's clock and the store's differ. Messages are sent by
// the store's clock, but the times in the worker's log would not match.
func checkClock(ctx context.Context, client redis.UniversalClient, logger *slog.Logger) error {
	offset, err := store.ReadClockAhead(ctx, client)
	switch {
	case redis.IsPermissionError(err):
		logger.WarnContext(ctx, "the store does not allow this user to read its clock: it is not compared with this machine's")
		return nil
	case err != nil:
		return fmt.Errorf("comparing clocks: %w", err)
	case offset.Abs() > clockTolerance:
		logger.WarnContext(ctx, "the clocks of the store and of this machine differ: messages go out by the store's",
			"store_ahead", offset.Round(time.Millisecond))
	}
	return nil
}
