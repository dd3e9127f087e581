package pipeline

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

// door is a node that answers only while it is open.
type door struct {
	node

	open    chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
	sizes   []int
	bounds  []time.Duration // for how long each pipeline may run; zero for ever
}

func newDoor() *door {
	d := &door{open: make(chan struct{})}
	d.node.running = &d.running
	d.send = func(ctx context.Context, cmds []redis.Cmder) {
		bound := time.Duration(0)
		if deadline, ok := ctx.Deadline(); ok {
			bound = time.Until(deadline)
		}
		d.mu.Lock()
		d.sizes, d.bounds = append(d.sizes, len(cmds)), append(d.bounds, bound)
		d.mu.Unlock()
		select {
		case <-d.open:
		case <-ctx.Done():
		}
	}
	return d
}

func (d *door) sent() (sizes []int, bounds []time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sizes, d.bounds
}

// A caller waits as long as its own context. What waits is sent in pipelines that are full,
// two at a time. What nobody waits for any more is not sent.
func TestPipelinesOfANode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		const callers = atOnce + 3*mostCommands
		var answered sync.WaitGroup
		for range callers {
			answered.Go(func() {
				if err := d.run(t.Context(), redis.NewCmd(t.Context())); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		sizes, _ := d.sent()
		require.Equal(t, []int{1, 1}, sizes, "both have begun")
		began := time.Now()
		ctx, done := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer done()
		require.ErrorIs(t, d.run(ctx, redis.NewCmd(ctx)), context.DeadlineExceeded)
		require.Equal(t, 200*time.Millisecond, time.Since(began))
		require.ErrorIs(t, d.run(ctx, redis.NewCmd(ctx)), context.DeadlineExceeded, "it is not even added")

		close(d.open)
		answered.Wait()
		d.running.Wait()
		require.Zero(t, d.senders)
		sizes, bounds := d.sent()
		require.Equal(t, []int{1, 1, mostCommands, mostCommands, mostCommands}, sizes)
		require.Equal(t, []time.Duration{0, 0, within, within, within}, bounds)
	})
}

// Pipelines that the node does not answer make room for others, on other connections.
func TestASlowPipelineHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		var answered sync.WaitGroup
		add := func() {
			answered.Go(func() { _ = d.run(t.Context(), redis.NewCmd(t.Context())) })
			synctest.Wait()
		}
		for range atOnce + 1 {
			add()
		}
		time.Sleep(slowAfter - time.Millisecond)
		synctest.Wait()
		sizes, _ := d.sent()
		require.Equal(t, []int{1, 1}, sizes)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		sizes, _ = d.sent()
		require.Equal(t, []int{1, 1, 1}, sizes)
		add()
		time.Sleep(time.Second)
		synctest.Wait()
		sizes, _ = d.sent()
		require.Len(t, sizes, atOnce+mostSlow, "where all are slow, no more are sent")

		close(d.open)
		answered.Wait()
		d.running.Wait()
		time.Sleep(2 * slowAfter)
		synctest.Wait()
		require.Zero(t, d.senders)
		require.Zero(t, d.slow)
		add()
		answered.Wait()
		d.running.Wait()
		require.Zero(t, d.senders)
	})
}

// A pipeline runs for as long as one of its callers waits.
func TestAPipelineEndsWithItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		d.senders = atOnce
		var answered sync.WaitGroup
		for _, timeout := range []time.Duration{time.Second, 3 * time.Second, 2 * time.Second} {
			answered.Go(func() {
				ctx, done := context.WithTimeout(t.Context(), timeout)
				defer done()
				_ = d.run(ctx, redis.NewCmd(ctx))
			})
		}
		synctest.Wait()
		d.mu.Lock()
		d.senders = 0
		d.startSender()
		d.mu.Unlock()
		synctest.Wait()
		sizes, bounds := d.sent()
		require.Equal(t, []int{3}, sizes)
		require.Equal(t, []time.Duration{3 * time.Second}, bounds)
		answered.Wait()
		d.running.Wait()
	})
}

func TestFewCommandsWaitForANode(t *testing.T) {
	t.Parallel()
	for address, name := range map[string]string{"": "Redis", "10.0.0.1:6379": "Redis at 10.0.0.1:6379"} {
		d := newDoor()
		d.address, d.waiting, d.senders = address, make([]*call, backlog), atOnce
		err := d.run(t.Context(), redis.NewCmd(t.Context()))
		_, away := errors.AsType[*fault.UnavailableError](err)
		require.True(t, away)
		require.EqualError(t, err, "4096 commands wait for "+name+", and no more are at a time: try again in a moment")
		d.waiting = d.waiting[1:]
		ctx, done := context.WithTimeout(t.Context(), time.Millisecond)
		defer done()
		require.ErrorIs(t, d.run(ctx, redis.NewCmd(ctx)), context.DeadlineExceeded)
		require.Len(t, d.waiting, backlog-1, "nobody waits for it")
	}
}
