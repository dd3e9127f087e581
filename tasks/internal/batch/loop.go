package batch

import (
	"context"
	"sync"
	"time"
)

// Options configures a Loop.
type Options struct {
	Together int           // the largest batch; zero means no limit
	Backlog  int           // the most waiting items, others are dropped; zero means no limit
	Within   time.Duration // bounds the work on one batch
	// Every is the time between two batches, which may then be empty. Zero means
	// that an item is worked on as soon as there is time.
	Every time.Duration
	// Gather is how long an item waits for others, without Every.
	Gather time.Duration
}

// Loop works on items in batches. Add never waits for the work.
type Loop[T any] struct {
	options Options
	work    func(ctx context.Context, batch []T) bool
	wake    chan struct{} // has room for one
	ending  chan struct{} // closed by Close
	ended   sync.WaitGroup

	mu      sync.Mutex
	waiting []T
	closed  bool
}

// NewLoop returns a Loop that calls work with one batch after the other, and with a context
// that ends after Options.Within. work reports whether it succeeded, and must not keep the
// batch.
func NewLoop[T any](o Options, work func(ctx context.Context, batch []T) bool) *Loop[T] {
	return &Loop[T]{options: o, work: work, wake: make(chan struct{}, 1), ending: make(chan struct{})}
}

// Start starts the work. Items that were added before wait for it.
func (l *Loop[T]) Start() { l.ended.Go(l.run) }

// Add adds an item. It drops the item if the backlog is full or the loop closed.
func (l *Loop[T]) Add(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.options.Backlog > 0 && len(l.waiting) >= l.options.Backlog {
		return
	}
	l.waiting = append(l.waiting, item)
	if l.options.Every == 0 {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// Close works on the remaining items, unless the work fails, and stops.
func (l *Loop[T]) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.ending)
	}
	l.mu.Unlock()
	l.ended.Wait()
}

func (l *Loop[T]) run() {
	var tick <-chan time.Time
	if l.options.Every > 0 {
		ticker := time.NewTicker(l.options.Every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for open := true; open; {
		select {
		case <-l.wake:
			open = l.gather()
		case <-tick:
		case <-l.ending:
			open = false
		}
		if !l.workOnAll() {
			return
		}
	}
}

// gather waits for more items, and reports false if the loop closes meanwhile.
func (l *Loop[T]) gather() bool {
	if l.options.Gather == 0 {
		return true
	}
	timer := time.NewTimer(l.options.Gather)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ending:
		return false
	}
}

// workOnAll works on all waiting items. It reports false if the work fails while the loop
// closes: then nobody waits for a store that does not answer.
func (l *Loop[T]) workOnAll() bool {
	for more := true; more; {
		var batch []T
		if batch, more = l.take(); len(batch) == 0 && l.options.Every == 0 {
			return true
		}
		if !l.do(batch) && l.options.Every == 0 && l.isClosed() {
			return false
		}
	}
	return true
}

func (l *Loop[T]) do(batch []T) bool {
	ctx, cancel := context.WithTimeout(context.Background(), l.options.Within) //nolint:names // it is for several callers
	defer cancel()
	return l.work(ctx, batch)
}

// take takes the next batch, and reports whether more items wait.
func (l *Loop[T]) take() (batch []T, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch, l.waiting = l.waiting, nil
	if most := l.options.Together; most > 0 && len(batch) > most {
		batch, l.waiting = batch[:most:most], batch[most:]
	}
	return batch, len(l.waiting) > 0
}

func (l *Loop[T]) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
