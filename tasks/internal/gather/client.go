package gather

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

const (
	// Small pipelines, two at a time, measured best: one is read while the other runs.
	maxCommands = 32
	atOnce      = 2
	// backlog is how many commands may wait for one node.
	backlog = 4096
)

// node has the commands for one node of a cluster, or for the only server.
type node = Gatherer[redis.Cmder]

// Client is a client of a store that sends the scripts of concurrent callers together. It
// sends other commands as they are.
type Client struct {
	redis.UniversalClient

	cluster *redis.ClusterClient // nil for one server

	mu      sync.Mutex
	nodes   map[string]*node // by address; "" for the only server
	running sync.WaitGroup
}

// NewClient returns a Client that sends through client. Wait before client is closed.
func NewClient(client redis.UniversalClient) *Client {
	cluster, _ := client.(*redis.ClusterClient)
	return &Client{UniversalClient: client, cluster: cluster, nodes: make(map[string]*node)}
}

// Wait waits for running pipelines. No caller may add to them any more.
func (c *Client) Wait() { c.running.Wait() }

// EvalSha runs a script.
func (c *Client) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, "evalsha", hash, keys, args)
}

// Eval is EvalSha for a script that the store does not know yet.
func (c *Client) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, "eval", source, keys, args)
}

func (c *Client) run(ctx context.Context, command, script string, keys []string, args []any) *redis.Cmd {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, command, script, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	if len(keys) > 0 {
		cmd.SetFirstKeyPos(3)
	}
	ctx, span := tracing.Command(ctx, cmd)
	to, err := c.nodeOf(ctx, keys)
	if err == nil {
		err = to.Do(ctx, cmd)
	}
	if span.Recording() {
		end := err
		if end == nil {
			end = cmd.Err()
		}
		span.EndCommand(end)
	}
	if err != nil {
		cmd = redis.NewCmd(ctx) // the other one may be on its way
		cmd.SetErr(err)
	}
	return cmd
}

// nodeOf returns the master that has the keys of a script.
func (c *Client) nodeOf(ctx context.Context, keys []string) (*node, error) {
	address := ""
	if c.cluster != nil && len(keys) > 0 {
		master, err := c.cluster.MasterForKey(ctx, keys[0])
		if err != nil {
			return nil, fmt.Errorf("finding the node of a key: %w", err)
		}
		address = master.Options().Addr
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	to, known := c.nodes[address]
	if !known {
		to = New(Options{
			AtOnce: atOnce, Together: maxCommands, Backlog: backlog, Full: func() error { return errFull(address) },
		}, &c.running, c.send)
		c.nodes[address] = to
	}
	return to, nil
}

// send sends a pipeline. The cluster's client repeats what has moved to another node. Each
// command gets its own error.
func (c *Client) send(ctx context.Context, cmds []redis.Cmder) {
	if len(cmds) == 1 {
		_ = c.Process(ctx, cmds[0])
		return
	}
	_, _ = c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		return pipe.BatchProcess(ctx, cmds...)
	})
}

// errFull returns the error of a command where as many wait for a node as may.
func errFull(address string) error {
	to := "Redis"
	if address != "" {
		to += " at " + address
	}
	return &fault.UnavailableError{Internal: address != "", Detail: fmt.Sprintf("%d commands wait for %s,"+
		" and no more are at a time: try again in a moment", backlog, to)}
}
