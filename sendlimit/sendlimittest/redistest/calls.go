package redistest

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// ScriptCalls is a client hook that counts the calls of scripts, in pipelines
// too.
type ScriptCalls struct{ count atomic.Int64 }

// During returns the number of calls that do makes.
func (c *ScriptCalls) During(do func()) int {
	before := c.count.Load()
	do()
	return int(c.count.Load() - before)
}

// DialHook does nothing.
func (c *ScriptCalls) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a call.
func (c *ScriptCalls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		c.add(cmd, err)
		return err
	}
}

// ProcessPipelineHook counts the calls of a pipeline.
func (c *ScriptCalls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			c.add(cmd, cmd.Err())
		}
		return err
	}
}

// add counts a script that ran. A script that the server did not have is called
// again, with its source.
func (c *ScriptCalls) add(cmd redis.Cmder, err error) {
	if strings.HasPrefix(cmd.Name(), "eval") && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		c.count.Add(1)
	}
}
