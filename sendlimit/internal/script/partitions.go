package script

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// partitionsAtOnce is how many partitions are asked in one round trip.
const partitionsAtOnce = 256

// eachPartition reads a span of the sorted sets of all partitions, some of them
// in each round trip, and hands on what it finds, also where some could not be
// read: the error is then that of the first of these.
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
