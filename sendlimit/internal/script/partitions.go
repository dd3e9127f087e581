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

// CountPartitions returns how many entries the sorted sets of all partitions have, in a few
// round trips. keys are those of the sets of a partition.
func CountPartitions(ctx context.Context, client redis.Cmdable, doing string, keys func(partition int) []string) (total int, failed error) {
	for first := 0; first < keyspace.Partitions; first += partitionsAtOnce {
		var counts []*redis.IntCmd
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for partition := first; partition < first+partitionsAtOnce; partition++ {
				for _, key := range keys(partition) {
					counts = append(counts, pipe.ZCard(ctx, key))
				}
			}
			return nil
		})
		if err != nil {
			return 0, store.Explain(err, doing)
		}
		for _, count := range counts {
			total += int(count.Val())
		}
	}
	return total, nil
}

// One makes the keys of one set a partition for CountPartitions.
func One(key func(partition int) string) func(partition int) []string {
	return func(partition int) []string { return []string{key(partition)} }
}
