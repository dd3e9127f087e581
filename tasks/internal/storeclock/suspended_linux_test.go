package storeclock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What is read of the kernel is the difference of its two clocks, which stays the same while
// the machine runs.
func TestSuspendedIsRead(t *testing.T) {
	t.Parallel()
	boot, ok := read(unix.CLOCK_BOOTTIME)
	require.True(t, ok)
	monotonic, ok := read(unix.CLOCK_MONOTONIC)
	require.True(t, ok)
	require.GreaterOrEqual(t, boot, monotonic-time.Second)
	require.InDelta(t, (boot - monotonic).Seconds(), suspended().Seconds(), 60)
	first, second := suspended(), suspended()
	require.InDelta(t, first.Seconds(), second.Seconds(), 2*readWithin.Seconds())
}
