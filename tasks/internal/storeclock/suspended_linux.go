package storeclock

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readWithin bounds the time between two readings that are compared, so that a process
	// that is held up between them does not look like a suspension.
	readWithin = 10 * time.Millisecond
	readTries  = 10
)

// suspended returns for how long the machine was suspended since it was started:
// CLOCK_BOOTTIME goes on meanwhile, CLOCK_MONOTONIC does not. It returns 0 if the clocks can't
// be read, or not soon enough one after the other: then the clock counts what it counted.
func suspended() time.Duration {
	for range readTries {
		before, ok1 := read(unix.CLOCK_MONOTONIC)
		boot, ok2 := read(unix.CLOCK_BOOTTIME)
		after, ok3 := read(unix.CLOCK_MONOTONIC)
		if !ok1 || !ok2 || !ok3 {
			return 0
		}
		if after-before < readWithin {
			return boot - before
		}
	}
	return 0
}

func read(clock int32) (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(clock, &t)
	return time.Duration(t.Nano()), err == nil
}
