package storeclock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClockLearns(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, time.November, 22, 11, 0, 0, 0, time.UTC)
	local := began
	c := &Clock{Local: func() time.Time { return local }}
	require.Equal(t, began, c.Now(), "nothing is known yet")

	// learn takes in a reply that took so long, while the store was ahead by so
	// much half way.
	learn := func(took, ahead time.Duration) {
		sent := local
		local = local.Add(took)
		c.Learn(sent, local, sent.Add(took/2).Add(ahead))
	}
	for _, row := range []struct {
		why                string
		after, took, ahead time.Duration
		want               time.Duration
	}{
		{"the first is taken, as slow as it was", 0, 2 * time.Second, 3 * time.Second, 3 * time.Second},
		{"a quicker one is better", 0, 10 * time.Millisecond, 2900 * time.Millisecond, 2900 * time.Millisecond},
		{"a slower one is not", time.Second, 20 * time.Millisecond, 5 * time.Second, 2900 * time.Millisecond},
		{"as quick and newer is", time.Second, 10 * time.Millisecond, 2901 * time.Millisecond, 2901 * time.Millisecond},
		{"an old one counts no more, clocks drift", 10 * time.Second, time.Second, time.Second, time.Second},
		{"behind", time.Second, 0, -3 * time.Second, -3 * time.Second},
	} {
		local = local.Add(row.after)
		learn(row.took, row.ahead)
		require.Equal(t, local.Add(row.want), c.Now(), row.why)
	}
}

// Skew is the difference to the machine's clock, also after somebody has set that.
func TestSkew(t *testing.T) {
	t.Parallel()
	local := time.Date(2026, time.November, 22, 11, 0, 0, 0, time.UTC)
	wall := local
	c := &Clock{Local: func() time.Time { return local }, Wall: func() time.Time { return wall }}
	require.Zero(t, c.Skew())
	c.Learn(local, local, local.Add(3*time.Second))
	require.Equal(t, 3*time.Second, c.Skew())
	wall = wall.Add(time.Hour)
	require.Equal(t, 3*time.Second-time.Hour, c.Skew())
}

func TestSleepEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.True(t, Sleep(t.Context(), nil, -time.Second))
		require.True(t, Sleep(t.Context(), nil, time.Second))
		require.Equal(t, time.Second, time.Since(began))

		stop := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		require.False(t, Sleep(t.Context(), stop, time.Hour))
		require.Equal(t, 2*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, Sleep(ctx, nil, time.Hour))
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

// A step of the store's clock forward is not learned until it has stood for a while. One back
// is learned at once, as is what a slow reply may excuse.
func TestSteps(t *testing.T) {
	t.Parallel()
	local := time.Date(2026, time.November, 22, 11, 0, 0, 0, time.UTC)
	c := &Clock{Local: func() time.Time { return local }}
	ahead := func(after, took, by time.Duration) time.Duration {
		sent := local.Add(after)
		local = sent.Add(took)
		c.Learn(sent, local, sent.Add(took/2).Add(by))
		return c.Now().Sub(local)
	}
	require.Equal(t, 90*time.Minute, ahead(0, 0, 90*time.Minute), "the first is no step")
	require.Equal(t, 91*time.Minute, ahead(time.Second, 0, 91*time.Minute), "a minute is none")
	require.Zero(t, c.Stepped())

	require.Equal(t, 91*time.Minute, ahead(time.Second, 0, 92*time.Minute+time.Millisecond))
	noticed := local
	require.Equal(t, Step{Ahead: time.Minute + time.Millisecond, Since: noticed}, c.Stepped())
	require.Equal(t, 91*time.Minute, ahead(StepWait-time.Millisecond, 0, 32*time.Hour), "of any length")
	require.Equal(t, noticed, c.Stepped().Since)
	require.Equal(t, 91*time.Minute, ahead(0, 0, 91*time.Minute), "it is back")
	require.Zero(t, c.Stepped())

	require.Equal(t, 91*time.Minute, ahead(time.Second, 0, 3*time.Hour))
	require.Equal(t, 91*time.Minute, ahead(StepWait-time.Millisecond, 0, 3*time.Hour))
	require.Equal(t, 3*time.Hour, ahead(time.Millisecond, 0, 3*time.Hour), "it has stood")
	require.Zero(t, c.Stepped())

	require.Equal(t, time.Hour, ahead(trusted, 0, time.Hour), "a step back")
	require.Equal(t, time.Hour+time.Minute+time.Second, ahead(trusted, 2*time.Second, time.Hour+time.Minute+time.Second),
		"within what a slow reply may excuse")
	require.Zero(t, c.Stepped())
}

// A jump back is learned at once, and reported until the clock is back on its course, or shows a later
// time than before. A jump forward to that course is no step.
func TestAClockFallsBehind(t *testing.T) {
	t.Parallel()
	local := time.Date(2026, time.November, 22, 11, 0, 0, 0, time.UTC)
	var c *Clock
	learn := func(after, took, ahead time.Duration) time.Duration {
		sent := local.Add(after)
		local = sent.Add(took)
		c.Learn(sent, local, sent.Add(took/2).Add(ahead))
		require.Zero(t, c.Stepped())
		require.Equal(t, ahead, c.Now().Sub(local))
		return c.FellBehind().By
	}
	begin := func() {
		c = &Clock{Local: func() time.Time { return local }}
		require.Zero(t, learn(0, 0, time.Minute))
	}
	begin()
	require.Zero(t, learn(time.Second, 0, 58*time.Second), "as much as clocks are corrected by")
	require.Zero(t, learn(trusted, 2*time.Second, 55*time.Second), "a slow reply may excuse it")
	require.Equal(t, 2*time.Minute, learn(time.Second, time.Second, -65*time.Second), "a slower reply shows it too")
	require.Equal(t, 2*time.Minute, learn(StepWait-2*time.Second, time.Second, -65*time.Second))
	require.Zero(t, learn(2*time.Second, time.Second, -65*time.Second), "it is later than before the jump")

	begin()
	require.Equal(t, time.Hour, learn(time.Second, 0, -59*time.Minute))
	require.Equal(t, time.Hour, learn(10*time.Minute, 0, -59*time.Minute))
	require.Equal(t, 30*time.Minute, learn(time.Second, 0, -29*time.Minute), "half of it is corrected")
	require.Equal(t, 40*time.Minute, learn(time.Second, 0, -39*time.Minute), "it fell again")
	require.Zero(t, learn(time.Second, 0, time.Minute), "it is on its course")

	begin()
	c.Moved()
	require.Zero(t, learn(time.Second, 0, time.Second), "another server")
	c.Moved()
	require.Equal(t, 2*time.Minute, learn(time.Second, 0, -119*time.Second), "another, by more than servers may differ")
}
