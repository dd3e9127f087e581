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
const LayoutVersion = 1

// layoutField is the field of the meta key that holds the version.
const layoutField = "layout"

// CheckLayout marks a new store with LayoutVersion. It returns an
// *UnavailableError if the store has the layout of a newer program. ReadLayout
// only reads.
func CheckLayout(ctx context.Context, client redis.Cmdable, prefix string) error {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return err
	}
	if err := client.HSetNX(ctx, keys.Meta(), layoutField, LayoutVersion).Err(); err != nil {
		return Explain(err, "marking the layout")
	}
	_, err = ReadLayout(ctx, client, prefix)
	return err
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
