package worldtest

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// process is a program, or a worker, with a client of its own. It can be stopped for good at any
// call: goroutines can't be killed, so its calls wait until the world ends, and fail then.
type process struct {
	name      string
	scheduler *scheduler
	end       <-chan struct{} // closed when the world ends
	slow      func() time.Duration

	mu     sync.Mutex
	halted bool
	died   chan struct{} // closed when it is stopped
}

func newProcess(name string, s *scheduler, end <-chan struct{}) *process {
	return &process{name: name, scheduler: s, end: end, died: make(chan struct{})}
}

func (p *process) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.halted
}

func (p *process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.halted {
		p.halted = true
		close(p.died)
	}
}

// stay blocks, as a stopped process does.
func (p *process) stay(cmds []redis.Cmder) error {
	<-p.end
	time.Sleep(time.Second) // nobody repeats it at once
	return setErrors(cmds, errStopped)
}

// DialHook does nothing.
func (p *process) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes a call in its turn.
func (p *process) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if isHandshake(cmd) {
			return next(ctx, cmd)
		}
		if cmd.Name() == "xread" && !p.isStopped() { // it waits for the calls of others, so it has no turn
			return next(ctx, cmd)
		}
		return p.call(ctx, []redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook makes the calls of a pipeline in their turn.
func (p *process) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if isHandshake(cmds[0]) {
			return next(ctx, cmds)
		}
		return p.call(ctx, cmds, func() error { return next(ctx, cmds) })
	}
}

// isHandshake reports whether a client sends a command within a call: to make a connection, or to
// learn which master a command is for.
func isHandshake(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "client", "auth", "select", "readonly", "command":
		return true
	default:
		return false
	}
}

func (p *process) call(ctx context.Context, cmds []redis.Cmder, make func() error) error {
	if p.slow != nil && p.slow() > 0 {
		wait(ctx, p.slow())
	}
	err := p.scheduler.do(ctx, p, cmds, make)
	if p.isStopped() {
		return p.stay(cmds)
	}
	if network := (&net.OpError{}); errors.As(err, &network) {
		wait(ctx, 50*time.Millisecond) // a client library takes a while to find out
	}
	return err
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
