package redistest

import (
	"context"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ScriptCalls is a client hook that counts the calls of scripts.
type ScriptCalls struct {
	mu    sync.Mutex
	count int
}

// DialHook does nothing.
func (c *ScriptCalls) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook does nothing: calls in pipelines are not counted.
func (c *ScriptCalls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook counts a call of a script.
func (c *ScriptCalls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.count++
		}
		return err
	}
}

// During returns the number of calls that do makes.
func (c *ScriptCalls) During(do func()) int {
	c.mu.Lock()
	before := c.count
	c.mu.Unlock()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count - before
}
