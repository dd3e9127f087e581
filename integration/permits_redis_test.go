package integration_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A pace, its permits and what is paused are in one slot.
func TestPermitsAndTokensOnACluster(t *testing.T) {
	paces, err := rate.NewPaces(redistest.SharedCluster(t).Client(), keyspace.KeysUnder(redistest.Prefix(t)), "push")
	require.NoError(t, err)
	pace := rate.Pace{Rate: rate.Rate{Count: 10, Interval: time.Second}, Burst: 3}
	holds, err := paces.Seed(t.Context(), pace)
	require.NoError(t, err)
	require.Equal(t, pace, holds)
	_, err = paces.Pause(t.Context(), time.Minute)
	require.NoError(t, err)
	require.NoError(t, paces.Apply(t.Context(), rate.Pace{}))
	require.NoError(t, paces.Resume(t.Context()))
}

// By the server's own clock: many clients that ask all the time get no more than the
// rate in any interval, and not much less.
func TestPermitsByTheServersClock(t *testing.T) {
	client := redistest.Shared(t).Client()
	const pace, span = 50, 2500 * time.Millisecond
	newPermits := func() *rate.Permits {
		permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "push"})
		require.NoError(t, err)
		return permits
	}
	err := newPermits().SetRate(t.Context(), rate.PermitRate{Rate: rate.Rate{Count: pace, Interval: 500 * time.Millisecond}})
	require.NoError(t, err)
	var mu sync.Mutex
	var given []time.Time
	var clients sync.WaitGroup
	end := time.Now().Add(span)
	for range 4 {
		clients.Go(func() {
			permits := newPermits()
			for time.Now().Before(end) {
				d, err := permits.Acquire(context.WithoutCancel(t.Context()), rate.PermitRequest{Token: keyspace.NewToken()})
				if err != nil {
					t.Error(err)
					return
				}
				if d.Allowed {
					mu.Lock()
					given = append(given, d.Now)
					mu.Unlock()
				}
			}
		})
	}
	clients.Wait()
	require.LessOrEqual(t, fullest(given, 500*time.Millisecond), pace)
	require.GreaterOrEqual(t, len(given), 4*pace)

	// What is taken expires to the millisecond; the rate stays.
	require.Eventually(t, func() bool {
		return client.Exists(t.Context(), "sl:{pace:push}:permits").Val() == 0
	}, 60*time.Second, 10*time.Millisecond)
	require.Equal(t, int64(1), client.Exists(t.Context(), "sl:{pace:push}:rate").Val())
}

// A busy machine may hold up the server in the middle of a refusal, until the last permit has
// come back and Redis removes the key. It is still a refusal, by the time at which it was asked for.
func TestARefusalWhileTheLastPermitComesBack(t *testing.T) {
	client, prefix := redistest.Shared(t).Client(), redistest.Prefix(t)
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Prefix: prefix, Name: "push"})
	require.NoError(t, err)
	require.NoError(t, permits.SetRate(t.Context(), rate.PermitRate{Rate: rate.Rate{Count: 1, Interval: time.Second}}))
	taken := time.Now().Add(-time.Minute).Truncate(time.Millisecond) // back long ago, by the server's clock
	key := prefix + ":{pace:push}:permits"
	require.NoError(t, client.ZAdd(t.Context(), key, redis.Z{Score: float64(taken.UnixMilli()), Member: "other:0"}).Err())
	d, err := permits.Acquire(t.Context(), rate.PermitRequest{Token: keyspace.NewToken(), Now: taken.Add(time.Millisecond)})
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Equal(t, 999*time.Millisecond, d.RetryAfter)
	require.Zero(t, client.Exists(t.Context(), key).Val())
}

// A client that is killed between any two commands leaves no key without an expiry:
// each call is one script.
func TestLimitersLeaveNothingBehind(t *testing.T) {
	client := redistest.Shared(t).Client()
	bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{
		Rate: rate.Rate{Count: 20, Interval: time.Second}, Capacity: 10,
	})
	require.NoError(t, err)
	var allowed atomic.Int64
	var callers sync.WaitGroup
	for c := range 30 {
		callers.Go(func() {
			d, err := bucket.Take(context.WithoutCancel(t.Context()), rate.TokenRequest{Key: "k" + strconv.Itoa(c%2)})
			if err != nil {
				t.Error(err)
			}
			if d.Allowed {
				allowed.Add(1)
			}
		})
	}
	callers.Wait()
	require.GreaterOrEqual(t, allowed.Load(), int64(20))
	for _, key := range client.Keys(t.Context(), "*").Val() {
		require.Positive(t, client.PTTL(t.Context(), key).Val(), key)
	}
	require.Eventually(t, func() bool { return client.DBSize(t.Context()).Val() == 0 }, 60*time.Second, 10*time.Millisecond)
}

// fullest returns how many times are in the fullest window of a length.
func fullest(times []time.Time, window time.Duration) int {
	most := 0
	for _, from := range times {
		n := 0
		for _, at := range times {
			if !at.Before(from) && at.Before(from.Add(window)) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
