package notifier

import (
	"context"
	"sync"
)

// cleanups collects what channels leave to be done after their results.
type cleanups struct {
	mu    sync.Mutex
	over  bool
	waits []func()
}

type cleanupsKey struct{}

// WithCleanup returns a context for one Notify or Announce, and a function that does the
// channel's Cleanup. The caller calls the function once it has recorded the result, and
// before it cancels ctx. A crash before the record makes the caller deliver again, so nothing
// is to come between the answer and the record. A second call does nothing.
func WithCleanup(ctx context.Context) (delivering context.Context, clean func()) {
	c := new(cleanups)
	return context.WithValue(ctx, cleanupsKey{}, c), c.clean
}

// Cleanup does what a channel still has to do after the answer, such as to read the rest of
// it or to hang up. It returns at once with the context of WithCleanup, and f runs after the
// result is recorded. Otherwise it runs f. f must end soon, and at once if ctx has ended.
func Cleanup(ctx context.Context, f func()) {
	if c, ok := ctx.Value(cleanupsKey{}).(*cleanups); !ok || !c.add(f) {
		f()
	}
}

// add reports false if it is too late.
func (c *cleanups) add(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.waits = append(c.waits, f)
	return true
}

func (c *cleanups) clean() {
	c.mu.Lock()
	waits := c.waits
	c.over, c.waits = true, nil
	c.mu.Unlock()
	for _, f := range waits {
		f()
	}
}
