package script

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// If the first entries of a partition include unreadable ones, readOn more are read at a time, up
// to maxRead in all.
const (
	readOn  = 1000
	maxRead = 10_000
)

// EachDue reads the entries of each partition's sorted set that are due at now, oldest first, and
// calls take for each. Scores are by the clock of the partition's server; now and the times for
// take are by the common clock of ahead. take reports whether it can read the entry. An unreadable
// entry may be from a newer program: it stays, and does not hide later entries. At most
// perPartition readable entries of each partition are read. EachDue returns the number of
// unreadable entries. If some partitions can't be read it continues, and returns the first error.
func EachDue(
	ctx context.Context, client redis.Cmdable, doing string, key func(partition int) string,
	now time.Time, ahead keyspace.Ahead, perPartition int, take func(partition int, member string, since time.Time) bool,
) (unreadable int, failed error) {
	if perPartition < 1 {
		return 0, &fault.InvalidError{Field: "per_partition", Value: strconv.Itoa(perPartition), Want: "at least 1"}
	}
	var seen, readable [keyspace.Partitions]int
	see := func(partition int, entry redis.Z) {
		seen[partition]++
		if readable[partition] == perPartition {
			return
		}
		member, _ := entry.Member.(string) // always a string
		if take(partition, member, time.UnixMilli(int64(entry.Score)).Add(-ahead.Of(partition)).UTC()) {
			readable[partition]++
		} else {
			unreadable++
		}
	}
	spanOf := func(partition int) redis.ZRangeArgs {
		return redis.ZRangeArgs{
			Key: key(partition), Start: "-inf", Stop: now.Add(ahead.Of(partition)).UnixMilli(), ByScore: true, Count: int64(perPartition),
		}
	}
	failed = eachSpan(ctx, client, doing, everyPartition(), spanOf, see)
	for partition := range keyspace.Partitions {
		span := spanOf(partition)
		span.Count = readOn
		for upTo := perPartition; seen[partition] == upTo && readable[partition] < perPartition && upTo < maxRead; upTo += readOn {
			span.Offset = int64(upTo)
			entries, err := client.ZRangeArgsWithScores(ctx, span).Result()
			if err != nil && failed == nil {
				failed = store.Explain(err, doing)
			}
			for _, entry := range entries {
				see(partition, entry)
			}
		}
	}
	return unreadable, failed
}
