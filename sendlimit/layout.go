package sendlimit

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// LayoutVersion is the version of the keys and what they hold. A program
// refuses a store of a newer one.
const LayoutVersion = 1

// CheckLayout marks a new store with LayoutVersion. It returns an
// *UnavailableError if a newer program's layout is there.
func CheckLayout(ctx context.Context, client redis.Cmdable, prefix string) error {
	keys, err := NewKeys(prefix)
	if err != nil {
		return err
	}
	const field = "layout"
	if err := client.HSetNX(ctx, keys.Meta(), field, LayoutVersion).Err(); err != nil {
		return Unavailable(err, "marking the layout")
	}
	text, err := client.HGet(ctx, keys.Meta(), field).Result()
	if err != nil {
		return Unavailable(err, "reading the layout")
	}
	version, err := strconv.Atoi(text)
	if err != nil || version > LayoutVersion {
		return &UnavailableError{Detail: fmt.Sprintf(
			"the store has layout %q, this program knows up to %d: use the newer program, or another prefix", text, LayoutVersion)}
	}
	return nil
}
