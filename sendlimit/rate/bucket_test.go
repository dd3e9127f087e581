package rate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// bucketStory is one bucket with its own clock.
type bucketStory struct {
	*testing.T

	buckets func(rate string, capacity int64) *rate.TokenBucket
	bucket  *rate.TokenBucket
	now     time.Time
}

func newBucket(t *testing.T, rateText string, capacity int64) *bucketStory {
	t.Helper()
	_, client := redistest.Embedded(t)
	s := &bucketStory{T: t, now: time.Date(2050, 11, 22, 11, 11, 11, 0, time.UTC)}
	s.buckets = func(rateText string, capacity int64) *rate.TokenBucket {
		r, err := rate.Parse(rateText)
		require.NoError(t, err)
		bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{Rate: r, Capacity: capacity})
		require.NoError(t, err)
		return bucket
	}
	s.bucket = s.buckets(rateText, capacity)
	return s
}

func (s *bucketStory) take(n int64) rate.Grant {
	s.Helper()
	d, err := s.bucket.Take(s.Context(), rate.TokenRequest{Key: "alice", Tokens: n, Now: s.now})
	require.NoError(s, err)
	return d
}

func (s *bucketStory) requireTaken(n int64) {
	s.Helper()
	require.True(s, s.take(n).Allowed)
}

func (s *bucketStory) requireRefused(n int64, wait time.Duration) {
	s.Helper()
	d := s.take(n)
	require.False(s, d.Allowed)
	require.Equal(s, fault.CodeRateLimited, d.Code)
	require.Equal(s, wait, d.RetryAfter)
}

// A seventh of a day is not a whole number of milliseconds. Asked constantly
// for a year, the bucket gives exactly as many tokens as its rate.
func TestTokenBucketDoesNotDriftInAYear(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	s := newBucket(t, "7/day", 1)
	s.requireTaken(1)
	began, given := s.now, int64(0)
	for s.now.Sub(began) < 365*24*time.Hour {
		s.now = s.now.Add(3*time.Hour + 1234567*time.Millisecond)
		if d := s.take(1); !d.Allowed {
			s.now = s.now.Add(d.RetryAfter)
			s.requireTaken(1)
		}
		given++
	}
	require.Equal(t, s.now.Sub(began).Milliseconds()*7/(24*time.Hour).Milliseconds(), given)
}

// A bucket keeps its tokens when rate and capacity change.
func TestAChangedBucketKeepsItsTokens(t *testing.T) {
	t.Parallel()
	s := newBucket(t, "1/second", 10)
	s.requireTaken(8)
	s.bucket = s.buckets("1/second", 20)
	s.requireRefused(3, time.Second)
	s.bucket = s.buckets("1/minute", 20)
	s.requireRefused(3, time.Minute)
	s.bucket = s.buckets("1/minute", 1)
	s.requireTaken(1)
	s.requireRefused(1, time.Minute)
}

func TestMoreTokensThanTheCapacityAreInvalid(t *testing.T) {
	t.Parallel()
	s := newBucket(t, "1/second", 3)
	_, err := s.bucket.Take(t.Context(), rate.TokenRequest{Key: "alice", Tokens: 4})
	require.EqualError(t, err, `tokens "4" is not allowed: use 1 to the capacity of the bucket, which is 3`)
	_, err = s.bucket.Take(t.Context(), rate.TokenRequest{Key: "alice", Tokens: -1})
	require.Error(t, err)
	_, err = s.bucket.Take(t.Context(), rate.TokenRequest{})
	require.EqualError(t, err, `key "" is not allowed: use 1 to 256 bytes of UTF-8 without control characters`)
}

// A full bucket has no key.
func TestTokenBucketExpiresWhenFull(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{
		Rate: rate.Rate{Count: 1, Interval: time.Minute}, Capacity: 3,
	})
	require.NoError(t, err)
	_, err = bucket.Take(t.Context(), rate.TokenRequest{Key: "alice", Tokens: 2})
	require.NoError(t, err)
	require.Len(t, server.Keys(), 1)
	require.InDelta(t, (2 * time.Minute).Seconds(), server.TTL(server.Keys()[0]).Seconds(), 5)
	_, err = bucket.GiveBack(t.Context(), rate.TokenRequest{Key: "alice", Tokens: 2})
	require.NoError(t, err)
	require.Empty(t, server.Keys())
}

func TestTokenBucketsThatAreNone(t *testing.T) {
	t.Parallel()
	second := rate.Rate{Count: 1, Interval: time.Second}
	for want, o := range map[string]rate.TokenBucketOptions{
		`prefix "A" is not allowed: use 1 to 32 of a-z 0-9 _ -`:                                                              {Prefix: "A", Rate: second},
		`rate "none" is not allowed: use a rate such as 100/second, 6000/minute or 20/500ms: 1 to 100000, in 1ms to 31 days`: {},
		`capacity "-1" is not allowed: use 1 to 100000`:                                                                      {Rate: second, Capacity: -1},
		`capacity "100001" is not allowed: use 1 to 100000`:                                                                  {Rate: second, Capacity: 100_001},
	} {
		_, err := rate.NewTokenBucket(nil, o)
		require.EqualError(t, err, want)
	}
}

// The largest numbers are exact, even a year later.
func TestTokenBucketOfTheLargestNumbers(t *testing.T) {
	t.Parallel()
	s := newBucket(t, "100000/744h", rate.MaxCount)
	s.requireTaken(rate.MaxCount)
	s.requireRefused(rate.MaxCount, rate.MaxInterval)
	s.now = s.now.Add(rate.MaxInterval - time.Millisecond)
	s.requireRefused(rate.MaxCount, time.Millisecond)
	s.now = s.now.Add(time.Millisecond)
	s.requireTaken(rate.MaxCount)
	s.now = s.now.Add(366 * 24 * time.Hour)
	s.requireTaken(rate.MaxCount)
	s.requireRefused(1, 26_784*time.Millisecond)
	slow := newBucket(t, "1/744h", rate.MaxCount)
	slow.requireTaken(rate.MaxCount)
	slow.requireRefused(2, 2*rate.MaxInterval)
}
