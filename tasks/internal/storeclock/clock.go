package storeclock

import (
	"context"
	"sync"
	"time"
)

// Clock estimates the store's clock: the local clock plus an offset learned from the store's
// replies. It is only for waiting; the scripts judge by the store's own clock.
type Clock struct {
	Local func() time.Time
	// Wall returns the time of the machine, which jumps when it is set.
	Wall func() time.Time

	mu       sync.Mutex
	offset   time.Duration
	accuracy time.Duration // of the offset: half the round trip of its reply
	learned  time.Time
	step     Step
	behind   Behind
	moved    bool // the next reply is of another server
}

// Step is a jump of the store's clock forward, against the local clock. The store's clock may
// have become wrong, or right.
type Step struct {
	Ahead time.Duration // by how much; zero for none
	Since time.Time     // when it was noticed, by the local clock
}

// Behind is a jump of the store's clock back, against the local clock. The store's clock counts, so
// messages are sent late by as much.
type Behind struct {
	By    time.Duration // by how much; zero for none
	Since time.Time     // when it was noticed, by the local clock
}

const (
	// BehindAbove is how far the store's clock may jump back at most without a Behind.
	BehindAbove = 2 * time.Second
	// StepAbove is how far the store's clock may jump forward at most without a Step.
	StepAbove = time.Minute
	// StepWait is how long a Step is waited out. A clock that stays ahead for that long is
	// right.
	StepWait = 5 * time.Minute
)

// trusted is how long a more accurate offset is kept over a less accurate one:
// clocks drift.
const trusted = 10 * time.Second

// New returns a Clock that follows the monotonic clock from now on, so that setting this
// machine's clock changes nothing. On Linux it also counts the time that the machine is
// suspended, which would look like a Step otherwise.
func New() *Clock {
	return &Clock{
		Local: newLocal(time.Now(), suspended, time.Now).now, //nolint:names // the one place this package takes the time from
		Wall:  time.Now,                                      //nolint:names // the same
	}
}

// Another returns the Clock of another server of the same store. It is like c until it learns.
func (c *Clock) Another() *Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	other := &Clock{
		Local: func() time.Time { return c.Local() }, Wall: func() time.Time { return c.Wall() },
		offset: c.offset, accuracy: c.accuracy, learned: c.learned,
	}
	other.Moved()
	return other
}

// Moved says that the clock is that of another server from now on: its first reply counts.
func (c *Clock) Moved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.learned.IsZero() {
		c.learned, c.moved = c.learned.Add(-trusted), true
	}
}

// Ahead returns how far c is ahead of the Clock of another server.
func (c *Clock) Ahead(other *Clock) time.Duration {
	if c == other {
		return 0
	}
	c.mu.Lock()
	offset := c.offset
	c.mu.Unlock()
	other.mu.Lock()
	defer other.mu.Unlock()
	return offset - other.offset
}

// Now returns the store's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Local().Add(c.offset)
}

// Skew returns how far the store's clock is ahead of this machine's.
func (c *Clock) Skew() time.Duration {
	// Without Round, Sub would compare the monotonic clock, which knows of no setting.
	return c.Now().Round(0).Sub(c.Wall().Round(0))
}

// Latency returns about half of a round trip to the store.
func (c *Clock) Latency() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accuracy
}

// Learn learns the offset from a store's time between two local times.
func (c *Clock) Learn(sent, received, store time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	accuracy := received.Sub(sent) / 2
	offset := store.Sub(sent.Add(accuracy))
	if c.steps(offset-accuracy, received) {
		return
	}
	fell := c.fall(offset, accuracy, received)
	if !fell && !c.learned.IsZero() && accuracy > c.accuracy && received.Sub(c.learned) < trusted {
		return
	}
	c.offset, c.accuracy, c.learned, c.moved = offset, accuracy, received, false
}

// fall notes how far behind its former course the store's clock is, given the offset that a reply
// shows, and reports whether it has jumped. A Behind ends when the clock is back on that course, or
// once it shows a later time than before it jumped, but not before StepWait.
func (c *Clock) fall(offset, accuracy time.Duration, received time.Time) bool {
	above := BehindAbove
	if c.moved {
		above = StepAbove // the clocks of servers differ
	}
	back := c.offset - offset
	jumped := !c.learned.IsZero() && back.Abs() > above+accuracy+c.accuracy && (back > 0 || c.behind.By > 0)
	if jumped {
		if c.behind.By == 0 {
			c.behind.Since = received
		}
		c.behind.By += back
	}
	if c.behind.By <= BehindAbove || received.Sub(c.behind.Since) >= max(c.behind.By, StepWait) {
		c.behind = Behind{}
	}
	return jumped
}

// See notes whether a time of the store shows a step. It learns nothing else: the time may be old.
func (c *Clock) See(store time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if received := c.Local(); !c.learned.IsZero() && store.Sub(received)-c.offset > StepAbove {
		c.steps(store.Sub(received), received)
	}
}

// steps notes whether the store's clock has stepped forward, by the least offset that a
// reply shows. It reports whether to ignore the reply, because a Step is waited out.
func (c *Clock) steps(least time.Duration, received time.Time) bool {
	ahead := least - c.offset
	if c.learned.IsZero() || ahead <= c.behind.By+StepAbove { // no further ahead than before it jumped back
		c.step = Step{}
		return false
	}
	since := c.step.Since
	if since.IsZero() {
		since = received
	}
	if received.Sub(since) >= StepWait {
		c.step, c.behind, c.learned = Step{}, Behind{}, time.Time{} // forget the old offset
		return false
	}
	c.step = Step{Ahead: ahead, Since: since}
	return true
}

// Stepped returns the Step that is waited out; the zero Step for none. Until the clock steps
// back, or StepWait has passed, Now continues as before the Step.
func (c *Clock) Stepped() Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.step
}

// FellBehind returns how far behind its former course the store's clock is; the zero Behind if it did
// not jump back.
func (c *Clock) FellBehind() Behind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behind
}

// Sleep returns after d, or earlier with false when ctx or stop ends.
func Sleep(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	return SleepOrWake(ctx, stop, nil, d)
}

// SleepOrWake is Sleep that also returns when wake is closed. A nil wake never is.
func SleepOrWake(ctx context.Context, stop, wake <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-wake:
		return true
	case <-ctx.Done():
	case <-stop:
	}
	return false
}
