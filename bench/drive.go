package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// operation does the i-th of some operations. It is called concurrently.
type operation func(ctx context.Context, i int) error

// drive does n operations in callers goroutines, and returns how long they took. The
// first error ends it.
func drive(ctx context.Context, n int, do operation) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for range callers {
		running.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	return time.Since(began), context.Cause(ctx)
}

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
