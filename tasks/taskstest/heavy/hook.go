package heavy

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// scriptHook is a client hook that looks at each call, also of a pipeline.
type scriptHook struct {
	look func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error
}

// DialHook does nothing.
func (scriptHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook looks at a call.
func (h scriptHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return h.look(ctx, cmd, next) }
}

// ProcessPipelineHook looks at the calls of a pipeline, and makes one after the other.
func (h scriptHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			one := func(ctx context.Context, cmd redis.Cmder) error { return next(ctx, []redis.Cmder{cmd}) }
			if err := h.look(ctx, cmd, one); err != nil {
				return err
			}
		}
		return nil
	}
}
