package messages

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// LostPlaces finds and frees the places of messages whose records were lost. No script loses a
// record: somebody deleted keys, or a store was restored without all of them. Such a place counts
// against its user until its time, and nothing else gives it back.
//
// A place that was reserved without a record looks the same. Reserve such places under a prefix
// that no worker has.
type LostPlaces struct {
	client redis.UniversalClient
	keys   keyspace.Keys
}

// NewLostPlaces returns the lost places of a store.
func NewLostPlaces(client redis.UniversalClient, keys keyspace.Keys) *LostPlaces {
	return &LostPlaces{client: client, keys: keys}
}

const freeing = "looking for the places of lost messages"

// Freed is what Free freed.
type Freed struct {
	Places   int
	Messages int // without a record, whose places these were; one may have a place in a category too
}

// Free frees all places later than a minute from now whose messages have no record. It reads all keys
// of the store. It makes its calls in throttle, which may wait. A zero now means the server's clock.
func (l *LostPlaces) Free(
	ctx context.Context, throttle func(ctx context.Context, batch func() error) error, now time.Time,
) (freed Freed, failed error) {
	failed = l.eachKeys(ctx, l.keys.PlacesPattern(), throttle, func(keys []string) error {
		open := make(map[string]int) // key -> places that were checked and left
		for _, key := range keys {
			if _, ok := l.keys.ParsePlaces(key); ok {
				open[key] = 0
			}
		}
		for len(open) > 0 {
			err := throttle(ctx, func() error {
				part, err := l.freeIn(ctx, open, now)
				freed.Places += part.Places
				freed.Messages += part.Messages
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return freed, failed
}

// servers returns the server, or the masters of a cluster.
func (l *LostPlaces) servers(ctx context.Context) ([]redis.Cmdable, error) {
	cluster, ok := l.client.(*redis.ClusterClient)
	if !ok {
		return []redis.Cmdable{l.client}, nil
	}
	var servers []redis.Cmdable
	masters := make(chan redis.Cmdable)
	ended := make(chan error, 1)
	go func() {
		ended <- cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			masters <- master
			return nil
		})
		close(masters)
	}()
	for master := range masters {
		servers = append(servers, master)
	}
	if err := <-ended; err != nil {
		return nil, store.Explain(err, freeing)
	}
	return servers, nil
}

// eachKeys calls do with the keys of the store that match a pattern, some at a time. If a server
// fails it continues with the others, and returns the first error.
func (l *LostPlaces) eachKeys(
	ctx context.Context, pattern string, throttle func(context.Context, func() error) error, do func(keys []string) error,
) (failed error) {
	servers, err := l.servers(ctx)
	if err != nil {
		return err
	}
	for _, server := range servers {
		if err := eachKeysOf(ctx, server, pattern, throttle, do); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

// eachKeysOf is eachKeys of one server.
func eachKeysOf(
	ctx context.Context, server redis.Cmdable, pattern string,
	throttle func(context.Context, func() error) error, do func(keys []string) error,
) error {
	const scanCount = 1000 // keys that a call reads
	for cursor := uint64(0); ; {
		var keys []string
		err := throttle(ctx, func() (err error) {
			keys, cursor, err = server.Scan(ctx, cursor, pattern, scanCount).Result()
			return store.Explain(err, freeing)
		})
		if err == nil && len(keys) > 0 {
			err = do(keys)
		}
		if err != nil || cursor == 0 {
			return err
		}
	}
}

// atOnce is how many sets of places a round trip checks: few, since others wait for it.
const atOnce = 32

// freeIn checks the next page of some open sets, and removes completed sets from open. It skips a
// set whose slot is moving to another node.
func (l *LostPlaces) freeIn(ctx context.Context, open map[string]int, now time.Time) (freed Freed, failed error) {
	keys := slices.Collect(maps.Keys(open))
	keys = keys[:min(len(keys), atOnce)]
	replies := script.Each(ctx, l.client, lua.FreeLost, freeing, len(keys), func(i int) ([]string, []any) {
		user, _ := l.keys.ParsePlaces(keys[i])
		return keys[i : i+1], []any{script.Milliseconds(now), l.keys.RecordPrefix(user), open[keys[i]]}
	})
	for i, key := range keys {
		in := replies[i]
		if store.IsMoving(in.Err) {
			delete(open, key)
			continue
		}
		lost, left, all, messages := in.Int(0), in.Int(1), in.Int(2), in.Int(3)
		if in.Err != nil {
			return freed, in.Err
		}
		freed.Places += int(lost)
		freed.Messages += int(messages)
		open[key] += int(left)
		if all == 1 {
			delete(open, key)
		}
	}
	return freed, nil
}
