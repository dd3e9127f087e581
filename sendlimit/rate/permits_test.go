package rate_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// permitsStory is permits under a rate with their own clock.
type permitsStory struct {
	*testing.T
	*rate.Permits

	client redis.Cmdable
	now    time.Time
	asked  int
}

// newPermits returns permits with a rate; "" means none.
func newPermits(t *testing.T, rateText string) *permitsStory {
	t.Helper()
	_, client := redistest.Embedded(t)
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "push"})
	require.NoError(t, err)
	s := &permitsStory{T: t, Permits: permits, client: client, now: time.Date(2050, 11, 22, 11, 11, 11, 0, time.UTC)}
	if rateText != "" {
		s.setRate(rateText)
	}
	return s
}

func (s *permitsStory) setRate(rate string) {
	s.Helper()
	require.NoError(s, s.SetRate(s.Context(), permitRate(s.T, rate)))
}

func permitRate(t *testing.T, rateText string) rate.PermitRate {
	t.Helper()
	r, err := rate.Parse(rateText)
	require.NoError(t, err)
	return rate.PermitRate{Rate: r}
}

func (s *permitsStory) acquire(n int64) rate.Grant {
	s.Helper()
	s.asked++
	d, err := s.Acquire(s.Context(), rate.PermitRequest{Token: "t" + strconv.Itoa(s.asked), Permits: n, Now: s.now})
	require.NoError(s, err)
	return d
}

func (s *permitsStory) requireAcquired(n int64) {
	s.Helper()
	require.True(s, s.acquire(n).Allowed)
}

func (s *permitsStory) requireRefused(n int64, wait time.Duration) {
	s.Helper()
	d := s.acquire(n)
	require.False(s, d.Allowed)
	require.Equal(s, fault.CodeRateLimited, d.Code)
	require.Equal(s, wait, d.RetryAfter)
}

func TestPermitsTheFirstRateWins(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "")
	var winners sync.Map
	var first atomic.Value
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			rate := rate.PermitRate{Rate: rate.Rate{Count: int64(i + 1), Interval: time.Second}, PerClient: i%2 == 0}
			holds, err := s.TrySetRate(context.WithoutCancel(t.Context()), rate)
			if err != nil {
				t.Error(err)
			}
			winners.Store(holds, true)
			first.Store(holds)
		})
	}
	all.Wait()
	count := 0
	winners.Range(func(any, any) bool { count++; return true })
	require.Equal(t, 1, count, "all are told the same rate")
	holds, ok, err := s.Rate(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, first.Load(), holds)
}

func TestPermitsBeforeARate(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "")
	_, err := s.Acquire(t.Context(), rate.PermitRequest{Token: "t"})
	require.ErrorAs(t, err, new(*rate.NoRateError))
	require.EqualError(t, err, `the permits "push" have no rate yet: give them one with TrySetRate`)
	_, err = s.Peek(t.Context(), s.now)
	require.ErrorAs(t, err, new(*rate.NoRateError))
	_, ok, err := s.Rate(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
}

func TestMorePermitsThanTheRateAreInvalid(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "5/second")
	_, err := s.Acquire(t.Context(), rate.PermitRequest{Token: "t", Permits: 6, Now: s.now})
	require.EqualError(t, err, `permits "6" is not allowed: use at most the rate of "push", which is 5/second`)
	s.requireAcquired(5)
}

func TestPermitsOfATokenUsedTwice(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "100/second")
	ask := func(n int64) error {
		_, err := s.Acquire(t.Context(), rate.PermitRequest{Token: "same", Permits: n, Now: s.now})
		return err
	}
	require.NoError(t, ask(1))
	err := ask(50)
	require.EqualError(t, err, "the token is in use for another number of permits (1, not 50): use a new token for each request")
	reused := &rate.TokenReusedError{}
	require.ErrorAs(t, err, &reused)
	require.Equal(t, fault.CodeIDReused, reused.Code())
}

// However many permits a call takes, the store has few entries of it.
func TestPermitsOfLargeCallsAreFewEntries(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "100000/minute")
	s.requireAcquired(89_000)
	require.LessOrEqual(t, s.client.ZCard(t.Context(), "sl:{pace:push}:permits").Val(), int64(17))
	s.now = s.now.Add(time.Second)
	s.requireAcquired(10_999)
	s.requireAcquired(1)
	s.requireRefused(89_001, time.Minute)
	s.requireRefused(89_000, 59*time.Second)
	given, err := s.GiveBackPart(t.Context(), "t1", 88_000)
	require.NoError(t, err)
	require.Equal(t, int64(88_000), given)
	d := s.acquire(88_000)
	require.True(t, d.Allowed)
	require.Zero(t, d.Remaining)
	s.requireRefused(1_000, 59*time.Second)
	given, err = s.GiveBackPart(t.Context(), "t1", 5_000)
	require.NoError(t, err)
	require.Equal(t, int64(1_000), given, "the rest")
	_, err = s.GiveBackPart(t.Context(), "t1", 0)
	require.EqualError(t, err, `permits "0" is not allowed: use at least 1`)
}

// A refusal that names no wait is no pass, and no reason to ask again at once.
func TestRefusalsAlwaysHaveAWait(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "1/second")
	bucket, err := rate.NewTokenBucket(refusing{Cmdable: s.client}, rate.TokenBucketOptions{Rate: permitRate(t, "1/second").Rate})
	require.NoError(t, err)
	d, err := bucket.Take(t.Context(), rate.TokenRequest{Key: "alice"})
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Equal(t, time.Millisecond, d.RetryAfter)
}

// refusing answers every script with a refusal without a wait.
type refusing struct{ redis.Cmdable }

func (refusing) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal([]any{int64(0), int64(1), int64(0), int64(0), int64(1), int64(0), int64(1)})
	return cmd
}

func TestPermitsOfEachClient(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "1/second")
	r := permitRate(t, "1/second")
	r.PerClient = true
	require.NoError(t, s.SetRate(t.Context(), r))
	other, err := rate.NewPermits(s.client, rate.PermitsOptions{Name: "push"})
	require.NoError(t, err)
	s.requireAcquired(1)
	s.requireRefused(1, time.Second)
	d, err := other.Acquire(t.Context(), rate.PermitRequest{Token: "other", Now: s.now})
	require.NoError(t, err)
	require.True(t, d.Allowed, "a name made up for each")
}

// The permits taken expire with the last one. The rate stays.
func TestPermitsExpire(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "push"})
	require.NoError(t, err)
	require.NoError(t, permits.SetRate(t.Context(), permitRate(t, "2/minute")))
	_, err = permits.Acquire(t.Context(), rate.PermitRequest{Token: "t"})
	require.NoError(t, err)
	require.Equal(t, []string{"sl:{pace:push}:permits", "sl:{pace:push}:rate"}, server.Keys())
	require.InDelta(t, time.Minute.Seconds(), server.TTL("sl:{pace:push}:permits").Seconds(), 5)
	server.FastForward(61 * time.Second)
	require.Equal(t, []string{"sl:{pace:push}:rate"}, server.Keys())
}

// Many callers ask at the same time: exactly as many permits are given as there
// are.
func TestConcurrentCallersShareThePermits(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "100/minute")
	var given atomic.Int64
	var all sync.WaitGroup
	for g := range 40 {
		all.Go(func() {
			for i := range 10 {
				d, err := s.Acquire(context.WithoutCancel(t.Context()),
					rate.PermitRequest{Token: fmt.Sprintf("%d-%d", g, i), Now: s.now})
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					given.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(100), given.Load())
}

func TestPermitsThatAreNone(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "5/second")
	for want, o := range map[string]rate.PermitsOptions{
		`prefix "A" is not allowed: use 1 to 32 of a-z 0-9 _ -`:                              {Prefix: "A", Name: "n"},
		`name "" is not allowed: use 1 to 64 of a-z 0-9 _ -`:                                 {},
		`client "\n" is not allowed: use 1 to 256 bytes of UTF-8 without control characters`: {Name: "n", Client: "\n"},
		`lag "1.5ms" is not allowed: use whole milliseconds, up to 1m`:                       {Name: "n", Lag: 1500 * time.Microsecond},
		`lag "-1s" is not allowed: use whole milliseconds, up to 1m`:                         {Name: "n", Lag: -time.Second},
	} {
		_, err := rate.NewPermits(s.client, o)
		require.EqualError(t, err, want)
	}
	for want, r := range map[string]rate.PermitRequest{
		`token "" is not allowed: use 1 to 64 of A-Z a-z 0-9 _ -, see keyspace.NewToken`: {},
		`permits "-1" is not allowed: use at least 1`:                                    {Token: "t", Permits: -1},
		`delay "1h0m0s" is not allowed: use whole milliseconds, up to 1m`:                {Token: "t", Delay: time.Hour},
	} {
		_, err := s.Acquire(t.Context(), r)
		require.EqualError(t, err, want)
	}
	require.Error(t, s.SetRate(t.Context(), rate.PermitRate{}))
	_, err := s.TrySetRate(t.Context(), rate.PermitRate{})
	require.Error(t, err)
}

func TestPermitsWithoutTheStore(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "push"})
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), "sl:{pace:push}:rate", "many", 0).Err())
	_, _, err = permits.Rate(t.Context())
	require.ErrorAs(t, err, new(*fault.UnavailableError), "a newer program's, perhaps")
	_, err = permits.Acquire(t.Context(), rate.PermitRequest{Token: "t"})
	require.ErrorContains(t, err, "the rate is not one")
	server.Close()
	_, err = permits.Acquire(t.Context(), rate.PermitRequest{Token: "t"})
	require.ErrorAs(t, err, new(*fault.UnavailableError))
	_, err = permits.GiveBack(t.Context(), "t")
	require.ErrorAs(t, err, new(*fault.UnavailableError))
}
