package gather

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// slowAfter is the time after which a group makes room for another one, and maxSlow how many
	// do so at a time.
	slowAfter = 250 * time.Millisecond
	maxSlow   = 1
	// within bounds a group with a call that has no deadline. It is longer than the
	// client's timeout of a connection.
	within = 4 * time.Second
)

// Options configure a Gatherer.
type Options struct {
	AtOnce   int // how many groups run at a time
	Together int // the largest group
	Backlog  int // the most calls that wait
	// Full returns the error of a call beyond the backlog.
	Full func() error
}

// Gatherer gathers the calls of concurrent callers and does them in groups.
type Gatherer[T any] struct {
	options Options
	do      func(context.Context, []T)
	running *sync.WaitGroup

	mu      sync.Mutex
	waiting []*call[T]
	senders int // without those that made room
	slow    int // that made room
}

// call is a call that waits for its answer.
type call[T any] struct {
	item     T
	deadline time.Time     // of its caller; zero for none
	answered chan struct{} // closed
}

// New returns a Gatherer that calls do with each group, and counts its goroutines in
// running. do puts the answers into the items.
func New[T any](o Options, running *sync.WaitGroup, do func(ctx context.Context, items []T)) *Gatherer[T] {
	return &Gatherer[T]{options: o, running: running, do: do}
}

// Do does an item in the next group, and waits for the answer or the end of ctx. After an error the
// item must not be read: the group may still use it. If ctx ends before the group begins, the item
// is not done.
func (g *Gatherer[T]) Do(ctx context.Context, item T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mine := &call[T]{item: item, answered: make(chan struct{})}
	mine.deadline, _ = ctx.Deadline()
	if err := g.add(mine); err != nil {
		return err
	}
	select {
	case <-mine.answered:
		return nil
	case <-ctx.Done():
		g.remove(mine)
		return ctx.Err()
	}
}

// Waiting returns how many calls wait for a group.
func (g *Gatherer[T]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

func (g *Gatherer[T]) add(c *call[T]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) >= g.options.Backlog {
		return g.options.Full()
	}
	g.waiting = append(g.waiting, c)
	g.startSender()
	return nil
}

// remove removes a call from those that wait, if its group has not begun.
func (g *Gatherer[T]) remove(c *call[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, c); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
}

// startSender starts a sender if calls wait and there is room for it. The caller has the
// lock.
func (g *Gatherer[T]) startSender() {
	if len(g.waiting) > 0 && g.senders < g.options.AtOnce {
		g.senders++
		g.running.Go(g.sendAll)
	}
}

// sendAll sends one group after the other, until no call waits. It ends after a slow
// group that made room, as another sender has its place.
func (g *Gatherer[T]) sendAll() {
	for {
		calls := g.take()
		if len(calls) == 0 || g.sendOrMakeRoom(calls) {
			return
		}
	}
}

// sendOrMakeRoom sends calls, and reports whether it made room for another sender meanwhile.
func (g *Gatherer[T]) sendOrMakeRoom(calls []*call[T]) bool {
	ended, madeRoom := false, false
	timer := time.AfterFunc(slowAfter, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !ended && g.slow < maxSlow {
			madeRoom = true
			g.slow++
			g.senders--
			g.startSender()
		}
	})
	g.sendTogether(calls)
	timer.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	ended = true
	if madeRoom {
		g.slow--
	}
	return madeRoom
}

// take takes the calls of the next group. If there are none, the sender ends.
func (g *Gatherer[T]) take() []*call[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	count := min(len(g.waiting), g.options.Together)
	calls := slices.Clone(g.waiting[:count])
	if g.waiting = g.waiting[count:]; len(g.waiting) == 0 {
		g.waiting = nil
	}
	if count == 0 {
		g.senders--
	}
	return calls
}

// sendTogether does calls in one group, until no caller waits any more. A single call without a
// deadline ends with the client's own timeouts.
func (g *Gatherer[T]) sendTogether(calls []*call[T]) {
	ctx, latest, bounded := context.Background(), time.Time{}, true //nolint:names // it is for several callers
	items := make([]T, len(calls))
	for i, c := range calls {
		items[i] = c.item
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
	g.do(ctx, items)
	for _, c := range calls {
		close(c.answered)
	}
}
