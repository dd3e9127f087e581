package notifier

import (
	"context"
	"sync"
)

// cleanups collects the Cleanups of a delivery.
type cleanups struct {
	mu    sync.Mutex
	over  bool
	waits []func()
}

type cleanupsKey struct{}

// WithCleanup returns a context for one Notify or Announce, and a function that runs the channel's
// Cleanups. The caller calls it after it has recorded the result and before it cancels ctx: a crash
// before the record repeats the delivery, so nothing may delay the record. A second call does
// nothing.
func WithCleanup(ctx context.Context) (delivering context.Context, clean func()) {
	c := new(cleanups)
	return context.WithValue(ctx, cleanupsKey{}, c), c.clean
}

// Cleanup runs f, the channel's work after the answer, such as reading the rest of it or hanging
// up. With the context of WithCleanup it returns at once, and f runs after the result is recorded.
// f must end soon, and at once if ctx has ended.
func Cleanup(ctx context.Context, f func()) {
	if c, ok := ctx.Value(cleanupsKey{}).(*cleanups); !ok || !c.add(f) {
		f()
	}
}

// add reports false if the cleanups have run already.
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
