package sendlimit_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// afterCall is a client hook that does something when a script, which the server
// has loaded, was called so many times.
type afterCall struct {
	script *redis.Script
	on     int
	do     func()
	calls  int
}

func (c *afterCall) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *afterCall) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		c.called(cmd)
		return err
	}
}

func (c *afterCall) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			c.called(cmd)
		}
		return err
	}
}

func (c *afterCall) called(cmd redis.Cmder) {
	if cmd.Name() != "evalsha" || cmd.Args()[1] != c.script.Hash() || cmd.Err() != nil {
		return
	}
	if c.calls++; c.calls == c.on {
		c.do()
	}
}

// afterCalls has a client do something when it has called a script so many times.
func afterCalls(t *testing.T, client *redis.Client, script *redis.Script, on int, do func()) *afterCall {
	t.Helper()
	require.NoError(t, script.Load(t.Context(), client).Err())
	hook := &afterCall{script: script, on: on, do: do}
	client.AddHook(hook)
	return hook
}
