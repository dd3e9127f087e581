package submit

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// gate is a node that answers only while it is open.
type gate struct {
	batches

	open    chan struct{}
	running sync.WaitGroup
	sizes   []int
	mu      sync.Mutex
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	g.batches.running = &g.running
	g.send = func(cmds []redis.Cmder) {
		g.mu.Lock()
		g.sizes = append(g.sizes, len(cmds))
		g.mu.Unlock()
		<-g.open
	}
	return g
}

// A caller waits as long as its own context, and what waits is sent in batches that are
// full, two at a time.
func TestBatchesOfANode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		const callers = batchesAtOnce + 3*batchSize
		var answered sync.WaitGroup
		for range callers {
			answered.Go(func() {
				if err := g.add(t.Context(), redis.NewCmd(t.Context())); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		require.Equal(t, []int{1, 1}, g.sizes, "both have begun")
		began := time.Now()
		ctx, done := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer done()
		require.ErrorIs(t, g.add(ctx, redis.NewCmd(ctx)), context.DeadlineExceeded)
		require.Equal(t, 250*time.Millisecond, time.Since(began))

		close(g.open)
		answered.Wait()
		g.running.Wait()
		require.Zero(t, g.senders)
		require.Equal(t, []int{1, 1, batchSize, batchSize, batchSize, 1}, g.sizes)
	})
}

func TestFewCommandsWaitForANode(t *testing.T) {
	t.Parallel()
	g := newGate()
	g.waiting = make([]waiting, batchBacklog)
	err := g.add(t.Context(), redis.NewCmd(t.Context()))
	_, away := errors.AsType[*fault.UnavailableError](err)
	require.True(t, away)
	require.EqualError(t, err, "4096 commands wait for a node of the Redis Cluster, and no more are at a time: try again in a moment")
	g.waiting = g.waiting[1:]
	g.senders = batchesAtOnce
	ctx, done := context.WithCancel(t.Context())
	done()
	require.ErrorIs(t, g.add(ctx, redis.NewCmd(ctx)), context.Canceled)
	require.Len(t, g.waiting, batchBacklog)
}
