package messages

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	// near is how long before its time an entry is in a near list, NEAR of lua/fragments/watch.lua.
	near = 5 * time.Minute
	// broughtAtOnce is how many entries a call moves, in about a millisecond of the store's time.
	broughtAtOnce = 500
)

// BringNear moves the entries of far lists that are due within five minutes of now to the near
// lists, where Due finds them, and returns how many it moved. It takes at most about 68 round
// trips, a few if no message is far, and one or more for each partition with such entries. If none
// is due, the store needs up to about 20 ms, and almost nothing for partitions without far entries.
// If some partitions can't be read, it continues, and returns the first error.
func (w *WatchList) BringNear(ctx context.Context, now time.Time) (moved int, failed error) {
	far := func(partition int) []string { return w.keys.WatchLists(partition)[:keyspace.FarLists] }
	occupied, failed := script.Occupied(ctx, w.client, ReadingWatchList, far)
	var has [keyspace.Partitions]bool
	first := redis.ZRangeArgs{Start: "-inf", Stop: now.Add(near).UnixMilli(), ByScore: true, Count: 1}
	for list := range keyspace.FarLists {
		key := func(partition int) string { return w.keys.FarOf(partition, list) }
		err := script.EachOf(ctx, w.client, ReadingWatchList, occupied, key, first, func(partition int, _ redis.Z) {
			has[partition] = true
		})
		if failed == nil {
			failed = err
		}
	}
	for partition, due := range has {
		for due {
			n, err := w.bringNear(ctx, partition, now)
			if err != nil && failed == nil {
				failed = err
			}
			moved += n
			due = n == broughtAtOnce
		}
	}
	return moved, failed
}

func (w *WatchList) bringNear(ctx context.Context, partition int, now time.Time) (int, error) {
	const doing = "bringing entries of the watch list near"
	lists := w.keys.WatchLists(partition)
	keys := append([]string{lists[keyspace.FarLists]}, lists[:keyspace.FarLists]...)
	in := script.Call(ctx, w.client, lua.BringNear, doing, keys, []any{script.Milliseconds(now), broughtAtOnce})
	moved := in.Int(0)
	return int(moved), in.Err
}
