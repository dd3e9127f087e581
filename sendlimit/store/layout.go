package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Layout is a version of the keys and their values. A program refuses a store with a newer layout
// than its own.
type Layout int

// PresentLayout is the layout that this program knows.
const PresentLayout Layout = 1

// layoutField is the field of the meta key with the layout.
const layoutField = "layout"

// maxTries is how often a change is tried while others change the same key.
const maxTries = 5

// Check marks a new store with the layout. It returns an *UnavailableError if the store has another
// one. Read only reads, and Raise raises the store's layout.
func (l Layout) Check(ctx context.Context, client redis.Cmdable, keys keyspace.Keys) error {
	if err := client.HSetNX(ctx, keys.Meta(), layoutField, int(l)).Err(); err != nil {
		return Explain(err, "marking the layout")
	}
	found, err := l.Read(ctx, client, keys)
	if err == nil && found < l {
		return &fault.UnavailableError{Detail: fmt.Sprintf(
			"the store has layout %d, this program needs %d: start a worker of this version, which raises it", found, l)}
	}
	return err
}

// Raise raises the layout of a store to this one, if it is higher. Then programs that know only the
// former layout refuse the store. Call it when none of them runs any more: they would misread what
// newer ones write.
func (l Layout) Raise(ctx context.Context, client redis.UniversalClient, keys keyspace.Keys) error {
	raise := func(tx *redis.Tx) error {
		found, err := l.Read(ctx, tx, keys)
		if err != nil || found >= l {
			return err
		}
		return Transaction(ctx, tx, func(pipe redis.Pipeliner) error {
			return pipe.HSet(ctx, keys.Meta(), layoutField, int(l)).Err()
		})
	}
	for tries := 1; ; tries++ {
		err := client.Watch(ctx, raise, keys.Meta())
		if !errors.Is(err, redis.TxFailedErr) || tries == maxTries {
			return Explain(err, "raising the layout")
		}
	}
}

// Read returns the layout of a store, 0 if the store is not marked yet. It returns an
// *UnavailableError if that layout is newer than this one.
func (l Layout) Read(ctx context.Context, client redis.Cmdable, keys keyspace.Keys) (Layout, error) {
	text, err := client.HGet(ctx, keys.Meta(), layoutField).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, Explain(err, "reading the layout")
	}
	found, err := strconv.Atoi(text)
	if err != nil || found > int(l) {
		return 0, &fault.UnavailableError{Detail: fmt.Sprintf(
			"the store has layout %q, this program knows up to %d: use the newer program, or another prefix", text, l)}
	}
	return Layout(found), nil
}
