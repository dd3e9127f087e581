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

// LayoutVersion is the version of the keys and their values. A program refuses a
// store of a newer version.
//
//	1  the content of a message in one field of its record
//	2  a content of 65 to 512 bytes in fields of 64 bytes each; far entries of the watch
//	   list in lists of their own, and UUIDs packed in its members; a hold in a STRING
//	3  all policies in one HASH
const LayoutVersion = 3

// layoutField is the field of the meta key that holds the version.
const layoutField = "layout"

// mostTries is how often a change is tried while others change the same key.
const mostTries = 5

// CheckLayout marks a new store with LayoutVersion. It returns an
// *UnavailableError if the store has another layout. ReadLayout only reads, and
// UpgradeLayout raises the version.
func CheckLayout(ctx context.Context, client redis.Cmdable, prefix string) error {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return err
	}
	if err := client.HSetNX(ctx, keys.Meta(), layoutField, LayoutVersion).Err(); err != nil {
		return Explain(err, "marking the layout")
	}
	version, err := ReadLayout(ctx, client, prefix)
	if err == nil && version < LayoutVersion {
		return &fault.UnavailableError{Detail: fmt.Sprintf(
			"the store has layout %d, this program needs %d: start a worker of this version, which raises it", version, LayoutVersion)}
	}
	return err
}

// UpgradeLayout raises the layout of a store to LayoutVersion, if that is higher. Then
// programs that know only the former layout refuse the store. Call it when none of them
// runs any more: they misread what newer ones write.
func UpgradeLayout(ctx context.Context, client redis.UniversalClient, prefix string) error {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return err
	}
	raise := func(tx *redis.Tx) error {
		version, err := ReadLayout(ctx, tx, prefix)
		if err != nil || version >= LayoutVersion {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			return pipe.HSet(ctx, keys.Meta(), layoutField, LayoutVersion).Err()
		})
		return err //nolint:wrapcheck // Explain does
	}
	for tries := 1; ; tries++ {
		err := client.Watch(ctx, raise, keys.Meta())
		if !errors.Is(err, redis.TxFailedErr) || tries == mostTries {
			return Explain(err, "raising the layout")
		}
	}
}

// ReadLayout returns the version of the store's layout, 0 if the store is not
// marked yet. It returns an *UnavailableError if that is the layout of a newer
// program.
func ReadLayout(ctx context.Context, client redis.Cmdable, prefix string) (int, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return 0, err
	}
	text, err := client.HGet(ctx, keys.Meta(), layoutField).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, Explain(err, "reading the layout")
	}
	version, err := strconv.Atoi(text)
	if err != nil || version > LayoutVersion {
		return 0, &fault.UnavailableError{Detail: fmt.Sprintf(
			"the store has layout %q, this program knows up to %d: use the newer program, or another prefix", text, LayoutVersion)}
	}
	return version, nil
}
