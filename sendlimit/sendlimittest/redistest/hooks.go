package redistest

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Commands is a client hook that handles each command outside of pipelines.
type Commands func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error

// DialHook does nothing.
func (Commands) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook handles a command.
func (f Commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return f(ctx, cmd, next) }
}

// ProcessPipelineHook does nothing.
func (Commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Pipelines is a client hook that handles each pipeline.
type Pipelines func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error

// DialHook does nothing.
func (Pipelines) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook does nothing.
func (Pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook handles a pipeline.
func (f Pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return f(ctx, cmds, next) }
}

// Calls is a client hook that handles each call: a single command, or those of a pipeline.
type Calls func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error

// DialHook does nothing.
func (Calls) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook handles a single command.
func (f Calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return f(ctx, []redis.Cmder{cmd}, func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds[0]) })
	}
}

// ProcessPipelineHook handles a pipeline.
func (f Calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return Pipelines(f).ProcessPipelineHook(next)
}
