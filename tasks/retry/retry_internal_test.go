package retry

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Each wait is between half the backoff and the whole of it, and the backoff
// doubles from Min to Max.
func TestRetryWaits(t *testing.T) {
	t.Parallel()
	p := Policy{}.WithDefaults()
	require.Equal(t, Policy{Min: 5 * time.Second, Max: 15 * time.Minute, Attempts: 8}, p)
	for attempt, backoff := range map[int]time.Duration{
		1: 5 * time.Second,
		2: 10 * time.Second,
		3: 20 * time.Second,
		7: 320 * time.Second,
		8: 640 * time.Second,
		9: 15 * time.Minute,
	} {
		shortest, longest := time.Duration(math.MaxInt64), time.Duration(0)
		for range 2000 {
			wait := p.Wait(attempt, 0)
			shortest, longest = min(shortest, wait), max(longest, wait)
		}
		require.GreaterOrEqual(t, shortest, backoff/2, "attempt %d", attempt)
		require.LessOrEqual(t, longest, backoff, "attempt %d", attempt)
		// The whole range is used: messages that failed together part.
		require.Less(t, shortest, backoff*52/100, "attempt %d", attempt)
		require.Greater(t, longest, backoff*98/100, "attempt %d", attempt)
	}
}

// However many attempts and however long the waits, nothing overflows.
func TestRetryWaitsStayWithinMax(t *testing.T) {
	t.Parallel()
	for _, p := range []Policy{
		{Min: 1<<32 + 1, Max: time.Hour, Attempts: 1}, // doubled 33 times it is 8 seconds again, if nobody looks
		{Min: time.Millisecond, Max: math.MaxInt64, Attempts: 1},
		{Min: math.MaxInt64, Max: math.MaxInt64, Attempts: 1},
		{Min: time.Second, Max: time.Second, Attempts: 1},
	} {
		require.NoError(t, p.Validate())
		before := time.Duration(0)
		for attempt := 1; attempt <= 200; attempt++ {
			wait := p.Wait(attempt, 0)
			require.LessOrEqual(t, wait, p.Max, "%+v attempt %d", p, attempt)
			require.GreaterOrEqual(t, wait+1, before/2, "%+v attempt %d: a wait never gets much shorter", p, attempt)
			before = wait
		}
	}
	require.LessOrEqual(t, Policy{}.WithDefaults().Wait(math.MaxInt, 0), 15*time.Minute)
}

// What the provider asks for is the least, and may be more than Max.
func TestRetryAfterIsTheLeast(t *testing.T) {
	t.Parallel()
	p := Policy{Min: time.Second, Max: 4 * time.Second, Attempts: 3}
	for range 100 {
		require.Equal(t, time.Hour, p.Wait(1, time.Hour))
		require.GreaterOrEqual(t, p.Wait(3, time.Millisecond), 2*time.Second)
		require.GreaterOrEqual(t, p.Wait(1, 700*time.Millisecond), 700*time.Millisecond)
	}
}

func TestRetryPolicyOutOfBounds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		policy   Policy
		sentence string
	}{
		{Policy{Attempts: 3}, `retry_min "0s" is not allowed: use at least 1 ms`},
		{Policy{Min: -1, Max: 1, Attempts: 3}, `retry_min "-1ns" is not allowed: use at least 1 ms`},
		{
			Policy{Min: 2 * time.Second, Max: time.Second, Attempts: 3},
			`retry_max "1s" is not allowed: use at least retry_min, 2s`,
		},
		{
			Policy{Min: time.Second, Max: time.Second, Attempts: -3},
			`max_attempts "-3" is not allowed: use at least 1`,
		},
	} {
		err := row.policy.Validate()
		require.EqualError(t, err, row.sentence)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid)
	}
}
