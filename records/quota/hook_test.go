package quota_test

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// repeatHook calls every script twice, as if the first answer was lost, and
// keeps the calls.
type repeatHook struct{ calls *[][]any }

func (repeatHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h repeatHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := next(ctx, cmd); err != nil || cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			return err
		}
		*h.calls = append(*h.calls, slices.Clone(cmd.Args()))
		return next(ctx, cmd)
	}
}

func (repeatHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
