package overview

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Stats reads the state of the queue and the store, for the API's getStats and sendlimit-worker stats. It
// is safe for concurrent use.
type Stats struct {
	client  redis.UniversalClient
	prefix  string
	letters *messages.DeadLetters
	notices *notices.Outbox
	watch   *messages.WatchList
}

// NewStats returns the Stats of the store behind client. Its keys begin with prefix; "" means
// keyspace.DefaultPrefix. The error is a *fault.InvalidError.
func NewStats(client redis.UniversalClient, prefix string) (*Stats, error) {
	options := sendlimit.Options{Prefix: prefix}
	letters, err := messages.NewDeadLetters(client, options)
	if err != nil {
		return nil, err
	}
	watch, err := messages.NewWatchList(client, options)
	if err != nil {
		return nil, err
	}
	outbox, err := notices.New(client, notices.Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	return &Stats{client: client, prefix: prefix, letters: letters, notices: outbox, watch: watch}, nil
}

// Read reads all stats at the same time, except the version of the program. It returns the
// first error in the order of the fields.
func (r *Stats) Read(ctx context.Context) (message.Stats, error) {
	var (
		stats  message.Stats
		asking sync.WaitGroup
		errs   [6]error
	)
	asking.Go(func() { stats.Queue, errs[0] = queue.Sizes(ctx, r.client, r.prefix) })
	asking.Go(func() { stats.DeadLetters, errs[1] = r.letters.Count(ctx) })
	asking.Go(func() { stats.OldestOverdueSeconds, errs[2] = OldestOverdue(ctx, r.client, r.watch) })
	asking.Go(func() { stats.Store, errs[3] = storeMemory(ctx, r.client) })
	asking.Go(func() { stats.FailedAlerts, errs[4] = r.notices.CountDead(ctx) })
	asking.Go(func() { stats.Pending, errs[5] = r.watch.Pending(ctx) })
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return message.Stats{}, err
		}
	}
	return stats, nil
}

// OldestOverdue returns for how many seconds the oldest entry of the watch list has been
// due, 0 for none.
func OldestOverdue(ctx context.Context, client redis.UniversalClient, watch *messages.WatchList) (float64, error) {
	now, err := client.Time(ctx).Result()
	if err != nil {
		return 0, store.Explain(err, "asking the store for the time")
	}
	due, _, err := watch.Due(ctx, now, 1)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	return max(0, now.Sub(due[0].Due).Round(time.Millisecond).Seconds()), nil
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
