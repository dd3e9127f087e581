package gather

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const groups, together, waiting = 2, 32, 100

var errTooMany = errors.New("full")

// door is a Gatherer whose groups end only while it is open.
type door struct {
	*Gatherer[int]

	open    chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
	sizes   []int
	bounds  []time.Duration // for how long each group may run; zero for ever
}

func newDoor() *door {
	d := &door{open: make(chan struct{})}
	full := func() error { return errTooMany }
	d.Gatherer = New(Options{AtOnce: groups, Together: together, Backlog: waiting, Full: full}, &d.running, func(ctx context.Context, items []int) {
		bound := time.Duration(0)
		if deadline, ok := ctx.Deadline(); ok {
			bound = time.Until(deadline)
		}
		d.mu.Lock()
		d.sizes, d.bounds = append(d.sizes, len(items)), append(d.bounds, bound)
		d.mu.Unlock()
		select {
		case <-d.open:
		case <-ctx.Done():
		}
	})
	return d
}

func (d *door) sent() (sizes []int, bounds []time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sizes, d.bounds
}

// A caller waits as long as its own context. What waits is done in groups that are full,
// two at a time. What nobody waits for any more is not done.
func TestWhatComesMeanwhileMakesTheNextGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		const callers = groups + 3*together
		var answered sync.WaitGroup
		for range callers {
			answered.Go(func() {
				if err := d.Do(t.Context(), 1); err != nil {
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
		require.ErrorIs(t, d.Do(ctx, 1), context.DeadlineExceeded)
		require.Equal(t, 200*time.Millisecond, time.Since(began))
		require.ErrorIs(t, d.Do(ctx, 1), context.DeadlineExceeded, "it is not even added")

		close(d.open)
		answered.Wait()
		d.running.Wait()
		require.Zero(t, d.senders)
		sizes, bounds := d.sent()
		require.Equal(t, []int{1, 1, together, together, together}, sizes)
		require.Equal(t, []time.Duration{0, 0, within, within, within}, bounds)
	})
}

// Groups that take long make room for others.
func TestASlowGroupHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		var answered sync.WaitGroup
		add := func() {
			answered.Go(func() { _ = d.Do(t.Context(), 1) })
			synctest.Wait()
		}
		for range groups + 1 {
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
		require.Len(t, sizes, groups+maxSlow, "where all are slow, no more are sent")

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

// A group runs for as long as one of its callers waits.
func TestAGroupEndsWithItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		d.senders = groups
		var answered sync.WaitGroup
		for _, timeout := range []time.Duration{time.Second, 3 * time.Second, 2 * time.Second} {
			answered.Go(func() {
				ctx, done := context.WithTimeout(t.Context(), timeout)
				defer done()
				_ = d.Do(ctx, 1)
			})
		}
		synctest.Wait()
		d.Gatherer.mu.Lock()
		d.senders = 0
		d.startSender()
		d.Gatherer.mu.Unlock()
		synctest.Wait()
		sizes, bounds := d.sent()
		require.Equal(t, []int{3}, sizes)
		require.Equal(t, []time.Duration{3 * time.Second}, bounds)
		answered.Wait()
		d.running.Wait()
	})
}

func TestNoMoreWaitThanMay(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.waiting, d.senders = make([]*call[int], waiting), groups
	require.ErrorIs(t, d.Do(t.Context(), 1), errTooMany)
	d.waiting = d.waiting[1:]
	ctx, done := context.WithTimeout(t.Context(), time.Millisecond)
	defer done()
	require.ErrorIs(t, d.Do(ctx, 1), context.DeadlineExceeded)
	require.Equal(t, waiting-1, d.Waiting(), "nobody waits for it")
}
