package serve

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// clockTolerance is how far the clocks of store and worker may differ without a
	// warning.
	clockTolerance = 500 * time.Millisecond
	// clockSamples is how often a clock is read: the quickest answer is the most exact.
	clockSamples = 3
)

// checkClock warns if this machine's clock and the store's differ. Messages are sent by
// the store's clock, but the times in the worker's log would not match.
func checkClock(ctx context.Context, client redis.UniversalClient, logger *slog.Logger) error {
	offset, err := furthestOffset(ctx, client)
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

// furthestOffset returns how far the store's clock is ahead of this machine's. In a
// cluster, it uses the clock that differs most, of those masters that answer.
func furthestOffset(ctx context.Context, client redis.UniversalClient) (time.Duration, error) {
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
