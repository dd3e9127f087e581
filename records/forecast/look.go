package forecast

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lookWithin is how long Look waits for its count. A near count of a million messages takes less.
const lookWithin = 500 * time.Millisecond

// looks is the count of Look in this process: one at a time.
type looks struct {
	mu     sync.Mutex
	closed bool
	cancel context.CancelFunc
	done   chan struct{} // closed at the end of the last count; nil before the first one
	failed error         // of the last count, until a Look returns it
}

// Look returns the last forecast of any process on the store, as Latest does. If its rest is over
// and nobody counts, Look starts a count, and waits for it for half a second. A longer count goes
// on, and a later Look has its result. Close ends it. A zero now means the store's clock.
//
// An error does not mean that there is no forecast. It may be that of a count of an earlier Look.
func (f *Forecasts) Look(ctx context.Context, now time.Time) (_ Forecast, ok bool, err error) {
	if done := f.beginCount(ctx, now); done != nil {
		timer := time.NewTimer(lookWithin)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	f.looks.mu.Lock()
	failed := f.looks.failed
	f.looks.failed = nil
	f.looks.mu.Unlock()
	latest, ok, err := f.Latest(ctx)
	return latest, ok, errors.Join(failed, err)
}

// beginCount starts a count, and returns a channel that is closed at its end. It returns nil if one
// is running in this process, or the Forecasts are closed.
func (f *Forecasts) beginCount(ctx context.Context, now time.Time) (done <-chan struct{}) {
	l := &f.looks
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.cancel != nil {
		return nil
	}
	counting, cancel := context.WithCancel(context.WithoutCancel(ctx)) // others use the result, too
	ended := make(chan struct{})
	l.cancel, l.done = cancel, ended
	go func() {
		defer close(ended)
		defer cancel()
		_, err := f.Keep(counting, now)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cancel = nil
		if err != nil {
			l.failed = err
		}
	}()
	return ended
}

// Close stops a count of Look, and waits for its end. Later Looks only read.
func (f *Forecasts) Close() {
	l := &f.looks
	l.mu.Lock()
	l.closed = true
	if l.cancel != nil {
		l.cancel()
	}
	done := l.done
	l.mu.Unlock()
	if done != nil {
		<-done
	}
}
