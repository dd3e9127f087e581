package storeclock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A machine that was suspended is no step of the store's clock: that went on meanwhile, and so
// does ours.
func TestASuspensionIsNoStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		suspendedFor := 90 * time.Hour // before the program started
		c := &Clock{Local: newLocal(time.Now(), func() time.Duration { return suspendedFor }, time.Now).now}
		store := func() time.Time { return time.Now().Add(suspendedFor) }
		learn := func() { c.Learn(c.Local(), c.Local(), store()) }
		learn()
		require.Equal(t, store(), c.Now())
		began := c.Local()

		time.Sleep(time.Minute)
		suspendedFor += 3 * time.Hour
		require.Equal(t, store(), c.Now(), "before anybody asks the store")
		learn()
		require.Zero(t, c.Stepped())
		require.Equal(t, 3*time.Hour+time.Minute, c.Local().Sub(began))

		c.Learn(c.Local(), c.Local(), store().Add(3*time.Hour))
		require.Equal(t, 3*time.Hour, c.Stepped().Ahead, "beside it, a step is one")
		require.Equal(t, store(), c.Now())
	})
}

// The clock never goes back, and differences between two readings are no suspensions.
func TestTheLocalClockGoesForward(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var suspendedFor time.Duration
		clock := newLocal(time.Now(), func() time.Duration { return suspendedFor }, time.Now)
		for _, row := range []struct{ suspended, want time.Duration }{
			{leastSuspension - 1, 0},
			{-time.Millisecond, 0},
			{leastSuspension, leastSuspension},
			{leastSuspension - time.Millisecond, leastSuspension},
			{0, leastSuspension}, // it could not be read
			{2*leastSuspension - 1, leastSuspension},
			{time.Hour, time.Hour},
		} {
			suspendedFor = row.suspended
			time.Sleep(readAgain)
			require.Equal(t, row.want, clock.now().Sub(clock.began)-time.Since(clock.began), row.suspended)
		}
		began := clock.now()
		time.Sleep(time.Minute)
		require.Equal(t, time.Minute, clock.now().Sub(began))
	})
}

// The suspended time is read seldom, as that takes long, and at once after a suspension.
func TestTheSuspendedTimeIsReadSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, suspendedFor := 0, time.Duration(0)
		clock := newLocal(time.Now(), func() time.Duration {
			reads++
			return suspendedFor
		}, func() time.Time { return time.Now().Add(suspendedFor) })
		reads = 0
		for range 1000 {
			clock.now()
		}
		require.Equal(t, 1, reads)

		suspendedFor = time.Hour
		require.Equal(t, clock.began.Add(time.Hour), clock.now(), "at the very next look")
		require.Equal(t, 2, reads)
		time.Sleep(readAgain - 1)
		require.Equal(t, clock.began.Add(time.Hour+readAgain-1), clock.now())
		require.Equal(t, 2, reads)
		time.Sleep(time.Nanosecond)
		clock.now()
		require.Equal(t, 3, reads)
	})
}
