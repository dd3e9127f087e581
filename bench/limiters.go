package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// measureLimiters compares the Redis time of a permit and of a token with that of one
// redis_rate.Allow. All permits have the same name, as for pacing; each user has a
// token bucket. All calls are allowed.
func measureLimiters(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	pace := rate.Rate{Count: rate.MaxCount, Interval: time.Second}
	permits, err := rate.NewPermits(s.client, rate.PermitsOptions{Name: "push"})
	if err != nil {
		return nil, fmt.Errorf("permits: %w", err)
	}
	if err := permits.SetRate(ctx, rate.PermitRate{Rate: pace}); err != nil {
		return nil, fmt.Errorf("set the rate of permits: %w", err)
	}
	buckets, err := rate.NewTokenBucket(s.client, rate.TokenBucketOptions{Rate: pace})
	if err != nil {
		return nil, fmt.Errorf("token buckets: %w", err)
	}

	each := 1 + (size.slices*size.reserves+size.users-1)/size.users
	times := newSchedule(size.users, each)
	permitted := limited(times, "acquire", func(ctx context.Context, _ string) (rate.Grant, error) {
		return permits.Acquire(ctx, rate.PermitRequest{Token: keyspace.NewToken()})
	})
	taken := limited(times, "take", func(ctx context.Context, user string) (rate.Grant, error) {
		return buckets.Take(ctx, rate.TokenRequest{Key: user})
	})
	many, err := manyPermits(ctx, s, pace)
	if err != nil {
		return nil, err
	}
	allowed := allowing(redis_rate.NewLimiter(s.client), times, 0, oneLimit())
	if err := s.interleave(ctx, size.slices, size.reserves, permitted, many, taken, allowed); err != nil {
		return nil, err
	}
	return []row{
		state("redis-permit", "Redis time of Acquire, thousands of permits taken / one Allow",
			fmt.Sprintf("%.2f ×", permitted.timeOver(allowed)), "Acquire "+permitted.timing(), "Allow "+allowed.timing()),
		state("redis-permits", fmt.Sprintf("Redis time of Acquire of %d permits, and of GiveBack of all / one Allow", manyAtOnce),
			fmt.Sprintf("%.2f ×", many.timeOver(allowed)), "Acquire and GiveBack "+many.timing(), "Allow "+allowed.timing()),
		state("redis-token", "Redis time of Take / one Allow",
			fmt.Sprintf("%.2f ×", taken.timeOver(allowed)), "Take "+taken.timing(), "Allow "+allowed.timing()),
	}, nil
}

// manyAtOnce is the number of permits that one call takes.
const manyAtOnce = 89_000

// manyPermits takes many permits in one call and gives them back, each time for a
// client of its own.
func manyPermits(ctx context.Context, s *store, pace rate.Rate) (*side, error) {
	const name = "many"
	shared, err := rate.NewPermits(s.client, rate.PermitsOptions{Name: name})
	if err != nil {
		return nil, fmt.Errorf("many permits: %w", err)
	}
	if err := shared.SetRate(ctx, rate.PermitRate{Rate: pace, PerClient: true}); err != nil {
		return nil, fmt.Errorf("set the rate of many permits: %w", err)
	}
	return just(func(int) operation {
		return func(ctx context.Context, _ int) error {
			permits, err := rate.NewPermits(s.client, rate.PermitsOptions{Name: name})
			if err != nil {
				return fmt.Errorf("many permits: %w", err)
			}
			token := keyspace.NewToken()
			grant, err := permits.Acquire(ctx, rate.PermitRequest{Token: token, Permits: manyAtOnce})
			if err != nil || !grant.Allowed {
				return fmt.Errorf("acquire %d permits: allowed %t: %w", manyAtOnce, grant.Allowed, err)
			}
			if given, err := permits.GiveBack(ctx, token); err != nil || given != manyAtOnce {
				return fmt.Errorf("give %d permits back: %d: %w", manyAtOnce, given, err)
			}
			return nil
		}
	}), nil
}

// limited asks a limiter for the next user.
func limited(
	times *schedule, doing string, ask func(ctx context.Context, user string) (rate.Grant, error),
) *side {
	to := &turns{schedule: times}
	return just(func(n int) operation {
		requests := to.take(n)
		return func(ctx context.Context, i int) error {
			grant, err := ask(ctx, requests[i].User)
			if err != nil {
				return fmt.Errorf("%s: %w", doing, err)
			}
			if !grant.Allowed {
				return fmt.Errorf("%s: refused, where there is room", doing)
			}
			return nil
		}
	})
}
