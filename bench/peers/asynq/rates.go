package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

// rates limits with redis_rate: three Allow at submit, each a call of Redis. redis_rate counts calls at
// the time at which they are made, so the send time plays no part.
type rates struct{ limiter *redis_rate.Limiter }

func newRates(client redis.UniversalClient) limiter { return rates{redis_rate.NewLimiter(client)} }

func (r rates) take(ctx context.Context, m side.Message) (bool, error) {
	const day = 24 * time.Hour
	for _, limit := range []redis_rate.Limit{
		redis_rate.PerMinute(1), redis_rate.PerHour(5), {Rate: 10, Burst: 10, Period: day},
	} {
		result, err := r.limiter.Allow(ctx, m.User+":"+limit.Period.String(), limit)
		if err != nil {
			return false, fmt.Errorf("allow: %w", err)
		}
		if result.Allowed == 0 {
			return false, nil
		}
	}
	return true, nil
}

// giveBack does nothing: redis_rate has no call that returns an allowance.
func (rates) giveBack(context.Context, side.Message) error { return nil }
