package storeclock

import (
	"sync"
	"time"
)

// leastSuspension is the shortest time that counts as a suspension. The two clocks that show
// one are not read at the same moment.
const leastSuspension = time.Second

// local is the monotonic clock, together with the time that the machine was suspended: the
// monotonic clock stands still meanwhile, on Linux and macOS, and the store's does not.
type local struct {
	began     time.Time
	suspended func() time.Duration // so far, since some time
	before    time.Duration        // what suspended returned when the clock began

	mu      sync.Mutex
	counted time.Duration
}

func newLocal(began time.Time, suspended func() time.Duration) *local {
	return &local{began: began, suspended: suspended, before: suspended()}
}

// now returns the time of the clock.
func (l *local) now() time.Time {
	suspended := l.suspended() - l.before
	l.mu.Lock()
	defer l.mu.Unlock()
	if suspended-l.counted >= leastSuspension {
		l.counted = suspended
	}
	return l.began.Add(time.Since(l.began) + l.counted)
}
