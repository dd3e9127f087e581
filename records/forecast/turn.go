package forecast

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// turnFor is how long a turn lasts without renewal. Then another caller replaces a dead one.
	turnFor = time.Minute
	// renewAfter is the age of a turn at which the next call of a count renews it.
	renewAfter = 15 * time.Second
)

// turn is the right to count. Its key also keeps others from counting during the rest.
type turn struct {
	client  redis.UniversalClient
	key     string
	renewed time.Time
}

// take takes the turn, and reports whether it was free. local is this machine's time.
func (t *turn) take(ctx context.Context, local time.Time) (bool, error) {
	t.renewed = local
	mine, err := t.client.SetNX(ctx, t.key, 1, turnFor).Result()
	return mine, store.Explain(err, "taking the turn to count what is due when")
}

// renew prolongs the turn, if it is time.
func (t *turn) renew(ctx context.Context, local time.Time) error {
	if t == nil || local.Sub(t.renewed) < renewAfter {
		return nil
	}
	t.renewed = local
	return store.Explain(t.client.PExpire(ctx, t.key, turnFor).Err(), "keeping the turn to count what is due when")
}

// rest ends the turn, even if it had run out. Nobody can take it during the rest. A cancelled
// caller does this, too.
func (t *turn) rest(ctx context.Context, rest time.Duration) error {
	err := t.client.Set(context.WithoutCancel(ctx), t.key, 1, rest).Err()
	return store.Explain(err, "ending the turn to count what is due when")
}
