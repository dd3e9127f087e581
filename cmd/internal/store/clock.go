package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// ClocksDiffer is how far the clocks of the store and of this machine may differ before ClockAhead
	// says so.
	ClocksDiffer = 2 * time.Second
	// clockSamples is how often a clock is read: the quickest answer is the most exact.
	clockSamples = 3
)

// ClockAhead says in a sentence that the store's clock is ahead of this machine's, or behind; "" if it
// is so by at most ClocksDiffer.
func ClockAhead(by time.Duration) string {
	word := "ahead of"
	if by < 0 {
		word = "behind"
	}
	if by.Abs() <= ClocksDiffer {
		return ""
	}
	return fmt.Sprintf("the clock of Redis is %s %s that of this machine, and messages are sent by it: set the wrong one right",
		by.Abs().Round(time.Second), word)
}

// ReadClockAhead returns how far the store's clock is ahead of this machine's. In a
// cluster, it uses the clock that differs most, of those masters that answer.
func ReadClockAhead(ctx context.Context, client redis.UniversalClient) (time.Duration, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return clockOffset(ctx, client, time.Now)
	}
	var (
		mu       sync.Mutex
		furthest time.Duration
		answered bool
		failed   error
	)
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		offset, err := clockOffset(ctx, master, time.Now)
		mu.Lock()
		defer mu.Unlock()
		if offset.Abs() > furthest.Abs() {
			furthest = offset
		}
		if err != nil {
			failed = err
		} else {
			answered = true
		}
		return nil
	})
	if err == nil && !answered {
		err = failed
	}
	return furthest, store.Explain(err, "asking the cluster's masters")
}

// clockOffset returns how far the server's clock is ahead of now's, by the quickest of a
// few round trips.
func clockOffset(ctx context.Context, client redis.Cmdable, now func() time.Time) (time.Duration, error) {
	var (
		offset   time.Duration
		quickest time.Duration
	)
	for i := range clockSamples {
		asked := now()
		server, err := client.Time(ctx).Result()
		if err != nil {
			return 0, store.Explain(err, "asking the store for the time")
		}
		took := now().Sub(asked)
		if i == 0 || took < quickest {
			offset, quickest = server.Sub(asked.Add(took/2)), took
		}
	}
	return offset, nil
}
