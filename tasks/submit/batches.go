package submit

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	// Small batches, two at a time, measured best: one is read while the other runs.
	batchSize     = 32
	batchesAtOnce = 2
	// batchWithin bounds a batch. It is longer than the client's timeout of a connection.
	batchWithin = 4 * time.Second
	// batchBacklog is how many commands may wait for one node.
	batchBacklog = 4096
)

// commandsOf returns the client of a submitter's commands, and what to close, nil for none.
func commandsOf(client redis.UniversalClient, batch bool) (redis.UniversalClient, io.Closer, error) {
	if !batch {
		return client, nil, nil
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		each := &nodeBatches{ClusterClient: cluster, nodes: make(map[string]*batches)}
		return each, closer(each.running.Wait), nil
	}
	batcher, err := client.AutoPipelineWithOptions(&redis.AutoPipelineOptions{
		MaxBatchSize: batchSize, MaxConcurrentBatches: batchesAtOnce, Unordered: true,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("sending commands in batches: %w", err)
	}
	return batcher, batcher, nil
}

// closer is a function that ends something.
type closer func()

// Close calls the function.
func (c closer) Close() error {
	c()
	return nil
}

// nodeBatches sends the scripts of concurrent callers to a cluster in shared pipelines, one
// for each master: a master that does not answer holds up only its own callers. Other
// commands are sent as they are.
type nodeBatches struct {
	*redis.ClusterClient

	mu      sync.Mutex
	nodes   map[string]*batches // by address
	running sync.WaitGroup
}

// EvalSha runs a script.
func (n *nodeBatches) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	return n.run(ctx, "evalsha", hash, keys, args)
}

// Eval is EvalSha for a script that the store does not know yet.
func (n *nodeBatches) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return n.run(ctx, "eval", source, keys, args)
}

func (n *nodeBatches) run(ctx context.Context, command, script string, keys []string, args []any) *redis.Cmd {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, command, script, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	to, err := n.of(ctx, keys)
	if err == nil {
		cmd.SetFirstKeyPos(3)
		err = to.add(ctx, cmd)
	}
	if err != nil {
		cmd = redis.NewCmd(ctx) // the other one may be on its way
		cmd.SetErr(err)
	}
	return cmd
}

// of returns the batches of the master that has the keys of a script.
func (n *nodeBatches) of(ctx context.Context, keys []string) (*batches, error) {
	address := ""
	if len(keys) > 0 {
		master, err := n.MasterForKey(ctx, keys[0])
		if err != nil {
			return nil, fmt.Errorf("finding the node of a key: %w", err)
		}
		address = master.Options().Addr
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	to, known := n.nodes[address]
	if !known {
		to = &batches{running: &n.running, send: n.send}
		n.nodes[address] = to
	}
	return to, nil
}

// send sends a batch. The cluster's client repeats what has moved to another node.
func (n *nodeBatches) send(cmds []redis.Cmder) {
	ctx, done := context.WithTimeout(context.Background(), batchWithin)
	defer done()
	_, _ = n.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each command has its own error
		return pipe.BatchProcess(ctx, cmds...)
	})
}

// batches sends the commands for one node.
type batches struct {
	send    func([]redis.Cmder)
	running *sync.WaitGroup

	mu      sync.Mutex
	waiting []waiting
	senders int
}

// waiting is a command of a batch. Its sent is closed when the command has its answer.
type waiting struct {
	cmd  redis.Cmder
	sent chan struct{}
}

// add sends a command in the next batch, and waits for the answer or the end of ctx. The
// command belongs to the batch until it has its answer.
func (b *batches) add(ctx context.Context, cmd redis.Cmder) error {
	mine := waiting{cmd, make(chan struct{})}
	b.mu.Lock()
	if len(b.waiting) >= batchBacklog {
		b.mu.Unlock()
		return &fault.UnavailableError{Detail: fmt.Sprintf("%d commands wait for a node of the Redis Cluster,"+
			" and no more are at a time: try again in a moment", batchBacklog)}
	}
	b.waiting = append(b.waiting, mine)
	if b.senders < batchesAtOnce {
		b.senders++
		b.running.Go(b.sendAll)
	}
	b.mu.Unlock()
	select {
	case <-mine.sent:
		return nil
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // as the client library
	}
}

// sendAll sends one batch after the other, until none waits.
func (b *batches) sendAll() {
	for {
		batch := b.take()
		if len(batch) == 0 {
			return
		}
		cmds := make([]redis.Cmder, len(batch))
		for i, one := range batch {
			cmds[i] = one.cmd
		}
		b.send(cmds)
		for _, one := range batch {
			close(one.sent)
		}
	}
}

// take takes the next batch. If there is none, the sender ends.
func (b *batches) take() []waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), batchSize)
	batch := b.waiting[:n:n]
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	if n == 0 {
		b.senders--
	}
	return batch
}
