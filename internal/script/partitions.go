package script

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// partitionsAtOnce is the number of partitions in one round trip.
const partitionsAtOnce = 256

// everyPartition returns the numbers of all partitions.
func everyPartition() []int {
	partitions := make([]int, keyspace.Partitions)
	for i := range partitions {
		partitions[i] = i
	}
	return partitions
}

// noneExists reports whether none of the keys exists. Most of the time nothing is due, and one command
// costs a server less than one for each key. A cluster can't tell: its servers take keys of one slot.
func noneExists(ctx context.Context, client redis.Cmdable, keys []string) bool {
	if _, one := client.(*redis.Client); !one {
		return false
	}
	found, err := client.Exists(ctx, keys...).Result()
	return err == nil && found == 0
}

// Occupied returns the partitions in which at least one of their keys exists, in a few round trips.
// It makes one check for each partition, since most partitions of a small store have none of the
// keys. If some can't be read it continues, and returns the first error.
func Occupied(ctx context.Context, client redis.Cmdable, doing string, keys func(partition int) []string) (partitions []int, failed error) {
	all := make([]string, 0, keyspace.Partitions)
	for partition := range keyspace.Partitions {
		all = append(all, keys(partition)...)
	}
	if noneExists(ctx, client, all) {
		return nil, nil
	}
	for some := range slices.Chunk(everyPartition(), partitionsAtOnce) {
		counts := make([]*redis.IntCmd, len(some))
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, partition := range some {
				counts[i] = pipe.Exists(ctx, keys(partition)...)
			}
			return nil
		})
		if err != nil && failed == nil {
			failed = store.Explain(err, doing)
		}
		for i, count := range counts {
			if count.Val() > 0 {
				partitions = append(partitions, some[i])
			}
		}
	}
	return partitions, failed
}

// EachPartition reads a span of a sorted set of each partition, many in one round trip, and calls
// do for each entry. If some can't be read it continues, and returns the first error.
func EachPartition(
	ctx context.Context, client redis.Cmdable, doing string,
	key func(partition int) string, span redis.ZRangeArgs, do func(partition int, entry redis.Z),
) error {
	return EachOf(ctx, client, doing, everyPartition(), key, span, do)
}

// EachOf is EachPartition for some partitions.
func EachOf(
	ctx context.Context, client redis.Cmdable, doing string, partitions []int,
	key func(partition int) string, span redis.ZRangeArgs, do func(partition int, entry redis.Z),
) error {
	return eachSpan(ctx, client, doing, partitions, func(partition int) redis.ZRangeArgs {
		span.Key = key(partition)
		return span
	}, do)
}

// eachSpan is EachOf with a span for each partition.
func eachSpan(
	ctx context.Context, client redis.Cmdable, doing string, partitions []int,
	spanOf func(partition int) redis.ZRangeArgs, do func(partition int, entry redis.Z),
) error {
	keys := make([]string, len(partitions))
	for i, partition := range partitions {
		keys[i] = spanOf(partition).Key
	}
	if noneExists(ctx, client, keys) {
		return nil
	}
	var failed error
	for some := range slices.Chunk(partitions, partitionsAtOnce) {
		lists := make([]*redis.ZSliceCmd, len(some))
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, partition := range some {
				lists[i] = pipe.ZRangeArgsWithScores(ctx, spanOf(partition))
			}
			return nil
		})
		if err != nil && failed == nil {
			failed = store.Explain(err, doing)
		}
		for i, list := range lists {
			for _, entry := range list.Val() {
				do(some[i], entry)
			}
		}
	}
	return failed
}

// CountPartitions returns the number of entries in the sorted sets of all partitions, in a few
// round trips. keys returns the sets of a partition. It counts only where a set exists.
func CountPartitions(ctx context.Context, client redis.Cmdable, doing string, keys func(partition int) []string) (total int, failed error) {
	partitions, err := Occupied(ctx, client, doing, keys)
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(partitions, partitionsAtOnce) {
		var counts []*redis.IntCmd
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, partition := range some {
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

// EveryKey returns the keys of one set in each partition.
func EveryKey(key func(partition int) string) []string {
	keys := make([]string, keyspace.Partitions)
	for i := range keys {
		keys[i] = key(i)
	}
	return keys
}

// One adapts the key of one set in each partition for CountPartitions.
func One(key func(partition int) string) func(partition int) []string {
	return func(partition int) []string { return []string{key(partition)} }
}
