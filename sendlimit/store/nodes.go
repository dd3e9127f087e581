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
	// slowAfter is after how long without an answer to a command a master is asked whether
	// it answers at all.
	slowAfter = time.Second
	// askWithin is how long a master may take to answer that.
	askWithin = time.Second
	// askEvery is the pause between two questions to a master that is away.
	askEvery = 250 * time.Millisecond
	// asksUnused is how many questions in a row are asked although nobody wants anything
	// of the master. After that, nothing is known of it.
	asksUnused = 20
	// askConnections is more than a question needs. With as many failures to connect the
	// client library would go on trying.
	askConnections = 8
	// otherNodes is how many nodes are tried for a command that any of them can answer.
	otherNodes = 8
)

// NodeAwayError is the error of a command for a node of a cluster that is known not to
// answer.
type NodeAwayError struct {
	Address string
	// Sent says that the same call had sent the command before: it may have been run.
	Sent bool
}

// Error says which node does not answer.
func (e *NodeAwayError) Error() string { return fmt.Sprintf("Redis at %s does not answer", e.Address) }

// NotSent reports whether a call failed without having sent its command, as its node was
// known to be away. So nothing was done.
func NotSent(err error) bool {
	away, ok := errors.AsType[*NodeAwayError](err)
	return ok && !away.Sent
}

// WatchNodes makes the commands for a node of a cluster fail at once while that node does
// not answer, with a *NodeAwayError. So nobody waits for it who does not need it: neither
// a pipeline that has commands for other nodes, too, nor what shares a limit with callers
// that need it.
//
// A node is asked whether it answers when a command fails or takes longer than a second.
// While it does not, it is asked a few times a second, and the client looks for a replica
// that took over. Call WatchNodes before the first command.
func WatchNodes(cluster *redis.ClusterClient) {
	cluster.OnNewNode(func(client *redis.Client) {
		client.AddHook(&node{client: client, question: questionOptions(*client.Options()), lost: cluster.ReloadState})
	})
	cluster.AddHook(calls{})
}

// node is the hook of the client of one node.
type node struct {
	client   *redis.Client
	question redis.Options         // of a client that asks the node whether it answers
	lost     func(context.Context) // called while the node does not answer

	away   atomic.Bool
	asking atomic.Bool
	wanted atomic.Bool // a command was refused since the last question
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
	return &NodeAwayError{Address: n.question.Addr, Sent: before}
}

// watch runs a command, and asks the node whether it answers if the command shows that it
// may not.
func (n *node) watch(ctx context.Context, run func() error) error {
	slow := time.AfterFunc(slowAfter, func() { n.ask(ctx) })
	err := run()
	slow.Stop()
	if err != nil && !answered(err) && !errors.Is(err, context.Canceled) {
		n.ask(ctx)
	}
	return err
}

// answered reports whether an error is a reply of a node that can work.
func answered(err error) bool {
	_, reply := errors.AsType[redis.Error](err)
	return reply && !redis.IsLoadingError(err) && !redis.IsMasterDownError(err)
}

// ask asks the node until it answers, in a goroutine, unless one does so already.
func (n *node) ask(ctx context.Context) {
	if n.asking.CompareAndSwap(false, true) {
		go n.askUntilItAnswers(context.WithoutCancel(ctx))
	}
}

func (n *node) askUntilItAnswers(ctx context.Context) {
	defer n.asking.Store(false)
	for unused := 0; !n.closed(ctx); unused++ {
		if n.answers(ctx) || unused == asksUnused {
			n.away.Store(false)
			n.pause(ctx) // commands may fail for other reasons, many of them
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

// pause waits for askEvery, or until the client of the node is closed.
func (n *node) pause(ctx context.Context) {
	const steps = 10
	ticker := time.NewTicker(askEvery / steps)
	defer ticker.Stop()
	for step := 0; step < steps && !n.closed(ctx); step++ {
		<-ticker.C
	}
}

// closed reports whether the client of the node was closed.
func (n *node) closed(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, uncheckedKey{}, true))
	cancel() // an open client sends nothing then
	return errors.Is(n.client.Ping(ctx).Err(), redis.ErrClosed)
}

// uncheckedKey is the key of a mark in a context: the node's hook does nothing.
type uncheckedKey struct{}

// questionOptions returns the options of a client that asks a node whether it answers, given
// those of the other clients of the node. They are copied before the node has a connection:
// a client may change its own when it connects.
func questionOptions(o redis.Options) redis.Options {
	o.PoolSize, o.MinIdleConns, o.MaxActiveConns = askConnections, 0, 0
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = askWithin, askWithin, askWithin
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o
}

// answers asks the node through a connection of its own: those of the other callers may all
// be waiting.
func (n *node) answers(ctx context.Context) bool {
	client := redis.NewClient(&n.question)
	defer func() { _ = client.Close() }()
	ctx, done := context.WithTimeout(ctx, askWithin)
	defer done()
	err := client.Ping(ctx).Err()
	return err == nil || answered(err)
}

// calls is the hook of the client of the cluster.
type calls struct{}

// sentKey is the key of a *sync.Map in a context: the nodes that a call was sent to.
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

// ProcessPipelineHook lets the nodes know what a pipeline has sent.
func (calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return next(context.WithValue(ctx, sentKey{}, new(sync.Map)), cmds)
	}
}

// ProcessHook lets the nodes know what a call has sent. A command that any node can answer
// is tried at others: the client library picks one at random.
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
