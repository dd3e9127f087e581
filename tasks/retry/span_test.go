package retry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// Attempts go on for three days, at most an hour apart, and the last one is at the end.
func TestASpanLastsThreeDays(t *testing.T) {
	t.Parallel()
	span := retry.Span{}.WithDefaults()
	require.NoError(t, span.Validate())
	began := time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)
	now, attempts := began, 1
	for {
		next, again := span.Next(attempts, 0, began, now)
		if !again {
			break
		}
		require.Positive(t, next.Sub(now))
		require.LessOrEqual(t, next.Sub(now), time.Hour)
		now = next
		attempts++
	}
	require.Equal(t, 72*time.Hour, now.Sub(began))
	require.Greater(t, attempts, 70)
	require.Less(t, attempts, 200)

	first, again := span.Next(1, 0, time.Time{}, began)
	require.True(t, again, "the first failure")
	require.LessOrEqual(t, first.Sub(began), 5*time.Second)
	asked, _ := span.Next(1, 2*time.Hour, began, began)
	require.Equal(t, 2*time.Hour, asked.Sub(began), "the server asked for it")
	asked, _ = span.Next(1, 100*time.Hour, began, began)
	require.Equal(t, 72*time.Hour, asked.Sub(began), "at the end at the latest")
}

func TestSpanOutOfBounds(t *testing.T) {
	t.Parallel()
	for sentence, span := range map[string]retry.Span{
		`alert_retry_min "0s" is not allowed: use at least 1 ms`:                      {For: time.Hour},
		`alert_retry_max "1s" is not allowed: use at least alert_retry_min, 2s`:       {Min: 2 * time.Second, Max: time.Second, For: 1},
		`alert_retry_for "1m0s" is not allowed: use at least alert_retry_max, 1h0m0s`: {Min: 1e9, Max: time.Hour, For: time.Minute},
	} {
		err := span.Validate()
		require.EqualError(t, err, sentence)
		require.ErrorAs(t, err, new(*fault.InvalidError))
	}
}
