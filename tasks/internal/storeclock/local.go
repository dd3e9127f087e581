package storeclock

import (
	"sync"
	"time"
)

// leastSuspension is the shortest time that counts as a suspension. The two clocks that show
// one are not read at the same moment.
const leastSuspension = time.Second

// readAgain is after how long the suspended time is read again at the latest. To read it
// takes longer than all else here.
const readAgain = 10 * time.Millisecond

// local is the monotonic clock, together with the time that the machine was suspended: the
// monotonic clock stands still meanwhile, on Linux and macOS, and the store's does not.
type local struct {
	began     time.Time
	suspended func() time.Duration // so far, since some time
	before    time.Duration        // what suspended returned when the clock began
	wall      func() time.Time     // the wall clock, which a suspension sets forward

	mu      sync.Mutex
	counted time.Duration
	read    time.Duration // by the monotonic clock, when suspended was read
	ahead   time.Duration // of the wall clock to the monotonic one then
}

func newLocal(began time.Time, suspended func() time.Duration, wall func() time.Time) *local {
	return &local{began: began, suspended: suspended, before: suspended(), wall: wall, read: -readAgain}
}

// now returns the time of the clock.
func (l *local) now() time.Time {
	passed := time.Since(l.began)
	ahead := l.wall().Round(0).Sub(l.began.Round(0)) - passed
	l.mu.Lock()
	defer l.mu.Unlock()
	// Whoever wakes from a suspension finds the wall clock set forward.
	if passed-l.read >= readAgain || (ahead-l.ahead).Abs() >= leastSuspension/2 {
		l.read, l.ahead = passed, ahead
		if suspended := l.suspended() - l.before; suspended-l.counted >= leastSuspension {
			l.counted = suspended
		}
	}
	return l.began.Add(passed + l.counted)
}
