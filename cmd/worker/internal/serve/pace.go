package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

// seedPace stores the pace of the settings if the store has none. It does not change a stored one,
// and logs a difference.
func seedPace(ctx context.Context, client redis.Cmdable, c config.Config, logger *slog.Logger) error {
	if c.Pace == (rate.Pace{}) || !c.Deliver {
		return nil
	}
	paces, err := rate.NewPaces(client, keyspace.KeysUnder(c.Prefix), deliver.PaceTarget)
	if err != nil {
		return fmt.Errorf("opening the pace: %w", err)
	}
	stored, err := paces.Seed(ctx, c.Pace)
	if err != nil {
		return fmt.Errorf("adding the pace to the store: %w", err)
	}
	if stored != c.Pace {
		logger.WarnContext(ctx, "the pace in the settings differs from the store's, which applies: sendlimit-worker pace set replaces it",
			"settings", c.Pace.String(), "store", stored.String())
	}
	return nil
}
