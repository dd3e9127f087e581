package redistest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// AtOnce is a hook for clients that notes how many commands of a name run at once, separately or as
// the first of a pipeline.
type AtOnce struct {
	Name string

	running, most atomic.Int32
}

// Most returns the highest number of concurrent commands.
func (a *AtOnce) Most() int { return int(a.most.Load()) }

// begins notes a command, and waits a little for concurrent ones. Call end at its end.
func (a *AtOnce) begins(cmd redis.Cmder) (end func()) {
	if cmd.Name() != a.Name {
		return func() {}
	}
	now, most := a.running.Add(1), a.most.Load()
	for now > most && !a.most.CompareAndSwap(most, now) {
		most = a.most.Load()
	}
	time.Sleep(time.Millisecond)
	return func() { a.running.Add(-1) }
}

// DialHook is next.
func (*AtOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook notes a command.
func (a *AtOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer a.begins(cmd)()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook notes a pipeline.
func (a *AtOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		defer a.begins(commands[0])()
		return next(ctx, commands)
	}
}
