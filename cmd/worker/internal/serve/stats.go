package serve

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

const (
	// statsWithin bounds a look at the store for the API's stats; statsFresh is how
	// long its answer is reused.
	statsWithin = 5 * time.Second
	statsFresh  = time.Second
)

// newStats returns a function that reads the API's stats.
func newStats(client redis.UniversalClient, prefix, version string) (func(context.Context) (message.Stats, error), error) {
	options := sendlimit.Options{Prefix: prefix}
	letters, err := messages.NewDeadLetters(client, options)
	if err != nil {
		return nil, err
	}
	watch, err := messages.NewWatchList(client, options)
	if err != nil {
		return nil, err
	}
	notices, err := notices.New(client, notices.Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	type found struct {
		stats message.Stats
		err   error
	}
	answer := newShared(statsWithin, statsFresh, func(ctx context.Context) *found {
		stats, err := lookForStats(ctx, client, prefix, letters, notices, watch)
		stats.Version = version
		return &found{stats, err}
	})
	return func(ctx context.Context) (message.Stats, error) {
		f := answer.get(ctx)
		if f == nil {
			return message.Stats{}, store.Explain(ctx.Err(), "looking at the store")
		}
		return f.stats, f.err
	}, nil
}

// lookForStats reads all stats at the same time. It returns the first error in the order of
// the fields.
func lookForStats(
	ctx context.Context, client redis.UniversalClient, prefix string,
	letters *messages.DeadLetters, notices *notices.Outbox, watch *messages.WatchList,
) (message.Stats, error) {
	var (
		stats  message.Stats
		asking sync.WaitGroup
		errs   [6]error
	)
	asking.Go(func() { stats.Queue, errs[0] = queue.Sizes(ctx, client, prefix) })
	asking.Go(func() { stats.DeadLetters, errs[1] = letters.Count(ctx) })
	asking.Go(func() { stats.OldestOverdueSeconds, errs[2] = oldestOverdue(ctx, client, watch) })
	asking.Go(func() { stats.Store, errs[3] = storeMemory(ctx, client) })
	asking.Go(func() { stats.FailedAlerts, errs[4] = notices.CountDead(ctx) })
	asking.Go(func() { stats.Pending, errs[5] = watch.Pending(ctx) })
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return message.Stats{}, err
		}
	}
	return stats, nil
}

// oldestOverdue returns for how many seconds the oldest entry of the watch list has been
// due, 0 for none.
func oldestOverdue(ctx context.Context, client redis.UniversalClient, watch *messages.WatchList) (float64, error) {
	now, err := client.Time(ctx).Result()
	if err != nil {
		return 0, store.Explain(err, "asking the store for the time")
	}
	due, _, err := watch.Due(ctx, now, 1)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	return max(0, now.Sub(due[0].Since).Round(time.Millisecond).Seconds()), nil
}

// storeMemory returns the memory of the servers that report it.
func storeMemory(ctx context.Context, client redis.UniversalClient) ([]message.StoreMemory, error) {
	servers, err := store.ReadMemory(ctx, client)
	if err != nil {
		return nil, err
	}
	memory := make([]message.StoreMemory, len(servers))
	for i, m := range servers {
		memory[i] = message.StoreMemory{Server: m.Address, UsedBytes: m.Used, MaxBytes: m.Max}
	}
	return memory, nil
}
