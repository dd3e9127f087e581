package turn

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Take takes a turn, and reports whether the caller has it: nobody took it within lasts. key is one
// of keyspace.Keys.Turn. A turn that lasts longer than lasts was given before the clock stepped,
// and is ignored.
func Take(ctx context.Context, client redis.Scripter, key string, lasts time.Duration) (bool, error) {
	const doing = "taking a turn"
	answer, err := script.Run(ctx, client, lua.TurnTake, doing, []string{key}, []any{"", lasts.Milliseconds()})
	if err != nil {
		return false, err
	}
	return script.Yes(script.Read(answer, doing))
}

// GiveBack gives the caller's turn back: the next caller of Take gets it.
func GiveBack(ctx context.Context, client redis.Cmdable, key string) error {
	return store.Explain(client.Del(ctx, key).Err(), "giving a turn back")
}
