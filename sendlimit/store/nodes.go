package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// slowAfter is how long a command may take before its master is pinged.
	slowAfter = time.Second
	// pingTimeout is how long a master may take to answer a ping.
	pingTimeout = time.Second
	// pingEvery is the pause between two pings of a master that does not answer.
	pingEvery = 250 * time.Millisecond
	// maxUnusedPings is the maximum number of pings in a row while no command needs the master. After
	// that, its state is unknown.
	maxUnusedPings = 20
	// pingConnections is more than a ping needs. After that many failed connections the client
	// library would go on trying.
	pingConnections = 8
	// otherNodes is how many nodes are tried for a command that any of them can answer.
	otherNodes = 8
)

// NodeAwayError is the error of a command for a cluster node that is known not to answer.
type NodeAwayError struct {
	Address string
	// Sent says that the same call had sent the command before: the command may have been run.
	Sent bool
}

// Error says which node does not answer.
func (e *NodeAwayError) Error() string { return fmt.Sprintf("Redis at %s does not answer", e.Address) }

// NotSent reports whether a call failed before it sent its command, because its node was known not
// to answer. So nothing was done.
func NotSent(err error) bool {
	away, ok := errors.AsType[*NodeAwayError](err)
	return ok && !away.Sent
}

// WatchNodes makes the commands for a cluster node fail at once, with a *NodeAwayError, while that
// node does not answer. So only commands that need the node suffer: not the other commands of a
// pipeline, and not callers that share a limit with those that need it.
//
// A node is pinged when a command fails or takes longer than a second. While it does not answer, it
// is pinged a few times a second, and the client looks for a replica that took over. Call
// WatchNodes before the first command.
func WatchNodes(cluster *redis.ClusterClient) {
	cluster.OnNewNode(func(client *redis.Client) {
		client.AddHook(&node{client: client, pings: pingOptions(*client.Options()), lost: cluster.ReloadState})
	})
	cluster.AddHook(calls{})
}

// node is the hook of the client of one node.
type node struct {
	client *redis.Client
	pings  redis.Options         // of a client that pings the node
	lost   func(context.Context) // called while the node does not answer

	away    atomic.Bool
	pinging atomic.Bool
	wanted  atomic.Bool // a command was refused since the last ping
}

// DialHook changes nothing.
func (n *node) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook refuses a command if the node is away.
func (n *node) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if ctx.Value(uncheckedKey{}) != nil {
			return next(ctx, cmd)
		}
		if err := n.refuse(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		sent(ctx).Store(n, true)
		return n.watch(ctx, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook refuses the commands of a pipeline if the node is away.
func (n *node) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := n.refuse(ctx); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		sent(ctx).Store(n, true)
		return n.watch(ctx, func() error { return next(ctx, cmds) })
	}
}

func (n *node) refuse(ctx context.Context) error {
	if !n.away.Load() {
		return nil
	}
	n.wanted.Store(true)
	_, before := sent(ctx).Load(n)
	return &NodeAwayError{Address: n.pings.Addr, Sent: before}
}

// watch runs a command, and pings the node if the command shows that it may not answer.
func (n *node) watch(ctx context.Context, run func() error) error {
	slow := time.AfterFunc(slowAfter, func() { n.ping(ctx) })
	err := run()
	slow.Stop()
	if err != nil && !answered(err) && !errors.Is(err, context.Canceled) {
		n.ping(ctx)
	}
	return err
}

// answered reports whether an error is a reply of a node that can work.
func answered(err error) bool {
	_, reply := errors.AsType[redis.Error](err)
	return reply && !redis.IsLoadingError(err) && !redis.IsMasterDownError(err)
}

// ping pings the node until it answers, in a goroutine, unless that is running already.
func (n *node) ping(ctx context.Context) {
	if n.pinging.CompareAndSwap(false, true) {
		go n.pingUntilItAnswers(context.WithoutCancel(ctx))
	}
}

func (n *node) pingUntilItAnswers(ctx context.Context) {
	defer n.pinging.Store(false)
	for unused := 0; !n.closed(ctx); unused++ {
		if n.answers(ctx) || unused == maxUnusedPings {
			n.away.Store(false)
			n.pause(ctx) // many commands may fail for other reasons
			return
		}
		n.away.Store(true)
		n.lost(ctx)
		n.pause(ctx)
		if n.wanted.Swap(false) {
			unused = 0
		}
	}
}

// pause waits for pingEvery, or until the client of the node is closed.
func (n *node) pause(ctx context.Context) {
	const steps = 10
	ticker := time.NewTicker(pingEvery / steps)
	defer ticker.Stop()
	for step := 0; step < steps && !n.closed(ctx); step++ {
		<-ticker.C
	}
}

// closed reports whether the client of the node was closed.
func (n *node) closed(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, uncheckedKey{}, true))
	cancel() // so that an open client sends nothing
	return errors.Is(n.client.Ping(ctx).Err(), redis.ErrClosed)
}

// uncheckedKey marks a context for which the node's hook does nothing.
type uncheckedKey struct{}

// pingOptions returns the options of a client that pings a node, given those of the other
// clients of the node. They are copied before the node has a connection: a client may change its
// own when it connects.
func pingOptions(o redis.Options) redis.Options {
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns = pingConnections, 0, 0
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = pingTimeout, pingTimeout, pingTimeout
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o
}

// answers pings the node through its own connection: those of the other callers may all be waiting.
func (n *node) answers(ctx context.Context) bool {
	client := redis.NewClient(&n.pings)
	defer func() { _ = client.Close() }()
	ctx, done := context.WithTimeout(ctx, pingTimeout)
	defer done()
	err := client.Ping(ctx).Err()
	return err == nil || answered(err)
}

// calls is the hook of the client of the cluster.
type calls struct{}

// sentKey is the context key of a *sync.Map: the nodes that a call was sent to.
type sentKey struct{}

// sent returns the nodes that a call was sent to before.
func sent(ctx context.Context) *sync.Map {
	if nodes, ok := ctx.Value(sentKey{}).(*sync.Map); ok {
		return nodes
	}
	return new(sync.Map) // a command of the client library itself
}

// DialHook changes nothing.
func (calls) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook records for the nodes what a pipeline has sent.
func (calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return next(context.WithValue(ctx, sentKey{}, new(sync.Map)), cmds)
	}
}

// ProcessHook records for the nodes what a call has sent. A command that any node can answer is
// tried at others: the client library picks one at random.
func (calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx = context.WithValue(ctx, sentKey{}, new(sync.Map))
		for try := 1; ; try++ {
			err := next(ctx, cmd)
			if _, away := errors.AsType[*NodeAwayError](err); !away || try == otherNodes || !anyNodeAnswers(cmd) {
				return err
			}
			cmd.SetErr(nil)
		}
	}
}

func anyNodeAnswers(cmd redis.Cmder) bool { return cmd.Name() == "time" || cmd.Name() == "ping" }
