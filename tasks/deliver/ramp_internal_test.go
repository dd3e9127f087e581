package deliver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// callsIn lets calls come as fast as a ramp allows, and counts them by second.
func callsIn(r *ramp, from time.Time, seconds int, full rate.Rate) []int {
	calls := make([]int, seconds)
	for now := from; now.Before(from.Add(time.Duration(seconds) * time.Second)); {
		if wait := r.wait(now, full); wait > 0 {
			now = now.Add(wait)
			continue
		}
		calls[int(now.Sub(from)/time.Second)]++
		r.passed(now)
		now = now.Add(full.Interval / time.Duration(full.Count))
	}
	return calls
}

func TestRampRisesToTheFullPace(t *testing.T) {
	t.Parallel()
	full := rate.Rate{Count: 100, Interval: time.Second}
	began := time.Date(2051, time.July, 12, 11, 11, 11, 0, time.UTC)
	r := &ramp{over: time.Minute}
	calls := callsIn(r, began, 70, full)
	for second, n := range calls {
		allowed := max(10, 100*(second+1)/60)
		require.LessOrEqual(t, n, min(allowed, 100)+2, "second %d", second)
		require.GreaterOrEqual(t, n, min(allowed, 100)-4, "second %d", second)
	}
	// A pause shorter than the ramp changes nothing, a longer one begins it anew.
	require.Zero(t, r.wait(began.Add(100*time.Second), full))
	require.GreaterOrEqual(t, callsIn(r, began.Add(100*time.Second), 1, full)[0], 99)
	again := callsIn(r, began.Add(10*time.Minute), 2, full)
	require.LessOrEqual(t, again[0], 12)
}

func TestNoRampWithoutAPace(t *testing.T) {
	t.Parallel()
	began := time.Date(2051, time.July, 12, 11, 11, 11, 0, time.UTC)
	for _, r := range []*ramp{{over: time.Minute}, {}} {
		full := rate.Rate{}
		if r.over == 0 {
			full = rate.Rate{Count: 1, Interval: time.Second}
		}
		r.passed(began)
		require.Zero(t, r.wait(began, full))
	}
}

// A channel takes those that are put back one after another, and at some time at last.
func TestPutBackOneAfterAnother(t *testing.T) {
	t.Parallel()
	l, now := &PacedChannel{}, time.Date(2051, time.July, 12, 11, 11, 11, 0, time.UTC)
	for i := range 100 {
		require.Equal(t, 2*time.Second+time.Duration(i)*time.Second/10, l.backs.putBack(now, 2*time.Second, time.Second/10))
	}
	require.Equal(t, backLatest, func() (last time.Duration) {
		for range 100 {
			last = l.backs.putBack(now, 0, time.Minute)
		}
		return last
	}())
	require.GreaterOrEqual(t, l.backs.putBack(now, time.Hour, 0), time.Hour)
}
