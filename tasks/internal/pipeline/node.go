package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	// Small pipelines, two at a time, measured best: one is read while the other runs.
	mostCommands = 32
	atOnce       = 2
	// slowAfter is after how long a pipeline makes room for another one, and mostSlow how many
	// do so at a time. Where all are slow, more of them would make each slower.
	slowAfter = 250 * time.Millisecond
	mostSlow  = 1
	// within bounds a pipeline with a command that has no deadline. It is longer than the
	// client's timeout of a connection.
	within = 4 * time.Second
	// backlog is how many commands may wait for one node.
	backlog = 4096
)

// node has the commands for one node of a cluster, or for the only server.
type node struct {
	address string // "" for the only one
	send    func(context.Context, []redis.Cmder)
	running *sync.WaitGroup

	mu      sync.Mutex
	waiting []*call
	senders int // without those that made room
	slow    int // that made room
}

// call is a command that waits for its answer.
type call struct {
	cmd      redis.Cmder
	deadline time.Time     // of its caller; zero for none
	answered chan struct{} // closed
}

// run sends a command in the next pipeline, and waits for the answer or the end of ctx. The
// command belongs to the pipeline until it has its answer. A command whose caller gives up
// before it is sent is not sent.
func (n *node) run(ctx context.Context, cmd redis.Cmder) error {
	if err := ctx.Err(); err != nil {
		return err //nolint:wrapcheck // as the client library
	}
	mine := &call{cmd: cmd, answered: make(chan struct{})}
	mine.deadline, _ = ctx.Deadline()
	if err := n.add(mine); err != nil {
		return err
	}
	select {
	case <-mine.answered:
		return nil
	case <-ctx.Done():
		n.remove(mine)
		return ctx.Err() //nolint:wrapcheck // as the client library
	}
}

// add adds a call to those that wait.
func (n *node) add(c *call) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) >= backlog {
		to := "Redis"
		if n.address != "" {
			to += " at " + n.address
		}
		return &fault.UnavailableError{Detail: fmt.Sprintf("%d commands wait for %s,"+
			" and no more are at a time: try again in a moment", backlog, to)}
	}
	n.waiting = append(n.waiting, c)
	n.startSender()
	return nil
}

// remove removes a call from those that wait, if it is not sent yet.
func (n *node) remove(c *call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.waiting, c); i >= 0 {
		n.waiting = slices.Delete(n.waiting, i, i+1)
	}
}

// startSender starts a sender if calls wait and there is room for it. The caller has the
// lock.
func (n *node) startSender() {
	if len(n.waiting) > 0 && n.senders < atOnce {
		n.senders++
		n.running.Go(n.sendAll)
	}
}

// sendAll sends one pipeline after the other, until no call waits. It ends after a slow
// pipeline that made room, as another sender has its place.
func (n *node) sendAll() {
	for {
		calls := n.take()
		if len(calls) == 0 || n.sendOrMakeRoom(calls) {
			return
		}
	}
}

// sendOrMakeRoom sends calls, and reports whether it made room for another sender meanwhile.
func (n *node) sendOrMakeRoom(calls []*call) bool {
	ended, madeRoom := false, false
	timer := time.AfterFunc(slowAfter, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !ended && n.slow < mostSlow {
			madeRoom = true
			n.slow++
			n.senders--
			n.startSender()
		}
	})
	n.sendTogether(calls)
	timer.Stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	ended = true
	if madeRoom {
		n.slow--
	}
	return madeRoom
}

// take takes the calls of the next pipeline. If there are none, the sender ends.
func (n *node) take() []*call {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := min(len(n.waiting), mostCommands)
	calls := slices.Clone(n.waiting[:count])
	if n.waiting = n.waiting[count:]; len(n.waiting) == 0 {
		n.waiting = nil
	}
	if count == 0 {
		n.senders--
	}
	return calls
}

// sendTogether sends calls in one pipeline, and tells their callers. It ends when no caller
// waits any more. A single call without a deadline ends with the client's own timeouts.
func (n *node) sendTogether(calls []*call) {
	ctx, latest, bounded := context.Background(), time.Time{}, true
	cmds := make([]redis.Cmder, len(calls))
	for i, c := range calls {
		cmds[i] = c.cmd
		bounded = bounded && !c.deadline.IsZero()
		if c.deadline.After(latest) {
			latest = c.deadline
		}
	}
	done := func() {}
	switch {
	case bounded:
		ctx, done = context.WithDeadline(ctx, latest)
	case len(calls) > 1:
		ctx, done = context.WithTimeout(ctx, within)
	}
	defer done()
	n.send(ctx, cmds)
	for _, c := range calls {
		close(c.answered)
	}
}
