package redistest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Script is one of package lua.
type Script interface {
	Hash() string
	Load(ctx context.Context, c redis.Scripter) *redis.StringCmd
}

// AfterCall is a client hook that counts the calls of a script and calls a
// function once, after a given number of them.
type AfterCall struct {
	script Script
	n      int
	do     func()
	// Calls is the number of calls so far.
	Calls int
}

// DialHook does nothing.
func (c *AfterCall) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a call of the script.
func (c *AfterCall) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		c.called(cmd)
		return err
	}
}

// ProcessPipelineHook counts the calls of the script in a pipeline.
func (c *AfterCall) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			c.called(cmd)
		}
		return err
	}
}

func (c *AfterCall) called(cmd redis.Cmder) {
	if cmd.Name() != "evalsha" || cmd.Args()[1] != c.script.Hash() || cmd.Err() != nil {
		return
	}
	if c.Calls++; c.Calls == c.n {
		c.do()
	}
}

// DoAfterCalls calls do after the client's n-th call of the script.
func DoAfterCalls(tb testing.TB, client *redis.Client, script Script, n int, do func()) *AfterCall {
	tb.Helper()
	require.NoError(tb, script.Load(tb.Context(), client).Err())
	hook := &AfterCall{script: script, n: n, do: do}
	client.AddHook(hook)
	return hook
}
