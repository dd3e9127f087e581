package storeclock

import (
	"context"
	"sync"
	"time"
)

// Clock is the store's clock as well as it can be told from here: the local
// one plus an offset learned from the replies of the store. It says how long to
// wait, and judges nothing: that is the scripts' part.
type Clock struct {
	Local func() time.Time

	mu       sync.Mutex
	offset   time.Duration
	accuracy time.Duration // of the offset: half the round trip it was learned in
	learned  time.Time
}

// trusted is how long a more accurate offset is kept over a less accurate one:
// clocks drift.
const trusted = 10 * time.Second

// New goes on from the time it is made at by the monotonic clock, so that
// setting this machine's clock moves nothing.
func New() *Clock {
	began := time.Now() //nolint:forbidigo // the one place this package takes the time from
	return &Clock{Local: func() time.Time { return began.Add(time.Since(began)) }}
}

// Now is the store's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Local().Add(c.offset)
}

// Latency returns about half of a round trip to the store.
func (c *Clock) Latency() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accuracy
}

// Learn takes in what the store's clock said between two moments here.
func (c *Clock) Learn(sent, received, store time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	accuracy := received.Sub(sent) / 2
	if !c.learned.IsZero() && accuracy > c.accuracy && received.Sub(c.learned) < trusted {
		return
	}
	c.offset, c.accuracy, c.learned = store.Sub(sent.Add(accuracy)), accuracy, received
}

// Sleep returns after d, or earlier with false when ctx or stop ends.
func Sleep(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-stop:
	}
	return false
}
