package quota_test

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// repeatHook calls every script twice, as if the first answer was lost, and
// keeps the calls.
type repeatHook struct{ calls *[][]any }

func (h repeatHook) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if err := next(ctx, cmd); err != nil || cmd.Name() != "evalsha" && cmd.Name() != "eval" {
		return err
	}
	*h.calls = append(*h.calls, slices.Clone(cmd.Args()))
	return next(ctx, cmd)
}
