package forecast

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lookWithin is how long Look waits for a count that it began. A store of a million messages
// is counted within that, except for its later hours.
const lookWithin = 500 * time.Millisecond

// looks are the counts that Look begins in this process: one at a time.
type looks struct {
	mu     sync.Mutex
	closed bool
	cancel context.CancelFunc
	done   chan struct{} // closed at the end of the last count; nil before the first one
	failed error         // of the last count, until a Look returns it
}

// Look returns the last forecast of anybody on the store, as Latest does. If the rest after it
// is over and nobody counts, it begins a count, and waits for it for half a second. A count
// that takes longer goes on: a later Look has its result. Close ends it. A zero now means the
// store's clock.
//
// An error does not mean that there is no forecast. It may be the error of a count that an
// earlier Look began.
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

// beginCount begins a count, and returns what is closed at its end. It returns nil if one is
// under way in this process, or the Forecasts are closed.
func (f *Forecasts) beginCount(ctx context.Context, now time.Time) (done <-chan struct{}) {
	l := &f.looks
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.cancel != nil {
		return nil
	}
	counting, cancel := context.WithCancel(context.WithoutCancel(ctx)) // others look at the result, too
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

// Close stops a count that Look began, and waits for its end. After that Look only reads.
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
