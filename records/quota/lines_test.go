package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestLinesComeBackEvenly(t *testing.T) {
	t.Parallel()
	m, client := redistest.Embedded(t)
	now := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	m.SetTime(now)
	charges, err := quota.New(client, quota.Options{Prefix: "p"})
	require.NoError(t, err)
	take := func(account string, n int64) rate.Grant {
		t.Helper()
		g, err := charges.TakeLines(t.Context(), account, 60, n)
		require.NoError(t, err)
		return g
	}
	require.True(t, take("acme", 60).Allowed)
	refused := take("acme", 1)
	require.False(t, refused.Allowed)
	require.Equal(t, time.Second, refused.RetryAfter)
	require.True(t, take("beta", 1).Allowed, "another account has a bucket of its own")

	require.NoError(t, charges.GiveLinesBack(t.Context(), "acme", 60, 2))
	require.True(t, take("acme", 2).Allowed)
	m.SetTime(now.Add(10 * time.Second))
	require.True(t, take("acme", 10).Allowed)
	require.False(t, take("acme", 1).Allowed)
	for _, key := range m.Keys() {
		require.Regexp(t, `^p:\{p\d{4}\}:tokens:lines `, key)
		require.Positive(t, m.TTL(key))
	}
}

// Every limit that a tier can have has a rate, which is at least that and hardly more.
func TestTheRateOfLines(t *testing.T) {
	t.Parallel()
	for _, perMinute := range []int64{1, 59, 60, 6000, 99_999, 100_000, 100_001, 123_457, 6_000_000, 999_999_937, accounts.MaxTierLimit} {
		r := quota.LineRate(perMinute)
		require.NoError(t, r.Validate(), perMinute)
		got := float64(r.Count) * float64(time.Minute) / float64(r.Interval)
		require.GreaterOrEqual(t, got, float64(perMinute))
		require.LessOrEqual(t, got, float64(perMinute)*1.00002)
	}
	require.Equal(t, rate.Rate{Count: 6000, Interval: time.Minute}, quota.LineRate(6000))
}
