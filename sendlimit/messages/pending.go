package messages

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Pending counts the messages that have not ended, in one round trip.
func (w *WatchList) Pending(ctx context.Context) (int, error) {
	lists := make([]*redis.IntCmd, keyspace.Partitions)
	_, err := w.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for partition := range lists {
			lists[partition] = pipe.ZCard(ctx, w.keys.WatchOf(partition))
		}
		return nil
	})
	if err != nil {
		return 0, store.Explain(err, "counting the pending messages")
	}
	pending := 0
	for _, list := range lists {
		pending += int(list.Val())
	}
	return pending, nil
}
