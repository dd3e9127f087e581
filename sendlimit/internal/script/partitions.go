package script

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// partitionsAtOnce is the number of partitions read in one round trip.
const partitionsAtOnce = 256

// EachPartition reads a span of a sorted set of each partition, many in one round
// trip, and calls do for each entry. Where some can't be read it goes on, and returns
// the first error.
func EachPartition(
	ctx context.Context, client redis.Cmdable, doing string,
	key func(partition int) string, span redis.ZRangeArgs, do func(partition int, entry redis.Z),
) error {
	var failed error
	for first := 0; first < keyspace.Partitions; first += partitionsAtOnce {
		var lists [partitionsAtOnce]*redis.ZSliceCmd
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range lists {
				span.Key = key(first + i)
				lists[i] = pipe.ZRangeArgsWithScores(ctx, span)
			}
			return nil
		})
		if err != nil && failed == nil {
			failed = store.Explain(err, doing)
		}
		for i, list := range lists {
			for _, entry := range list.Val() {
				do(first+i, entry)
			}
		}
	}
	return failed
}

// CountPartitions returns how many entries the sorted sets of all partitions have, in one
// round trip.
func CountPartitions(ctx context.Context, client redis.Cmdable, doing string, key func(partition int) string) (int, error) {
	counts := make([]*redis.IntCmd, keyspace.Partitions)
	_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for partition := range counts {
			counts[partition] = pipe.ZCard(ctx, key(partition))
		}
		return nil
	})
	if err != nil {
		return 0, store.Explain(err, doing)
	}
	total := 0
	for _, count := range counts {
		total += int(count.Val())
	}
	return total, nil
}
