package rate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// limiters are permits and a bucket of 2 in an interval, each as one function that waits in
// virtual time.
func limiters(t *testing.T, interval time.Duration) (calls *redistest.ScriptCalls, wait map[string]func(ctx context.Context, n int64) (rate.Grant, error)) {
	t.Helper()
	_, client := redistest.Virtual(t)
	calls = &redistest.ScriptCalls{}
	client.AddHook(calls)
	r := rate.Rate{Count: 2, Interval: interval}
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "push"})
	require.NoError(t, err)
	require.NoError(t, permits.SetRate(t.Context(), rate.PermitRate{Rate: r}))
	bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{Rate: r})
	require.NoError(t, err)
	return calls, map[string]func(context.Context, int64) (rate.Grant, error){
		"permits": func(ctx context.Context, n int64) (rate.Grant, error) {
			return permits.Wait(ctx, rate.PermitRequest{Token: keyspace.NewToken(), Permits: n})
		},
		"tokens": func(ctx context.Context, n int64) (rate.Grant, error) {
			return bucket.Wait(ctx, rate.TokenRequest{Key: "alice", Tokens: n})
		},
	}
}

// Callers get what they wait for in the order of their calls, also one that wants all
// between others that want one, and ask the store no more often than needed.
func TestWaitIsFairAndAsksSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, wait := limiters(t, 200*time.Millisecond)
		for name, wait := range wait {
			_, err := wait(t.Context(), 2)
			require.NoError(t, err, name)
			var mu sync.Mutex
			var order []int64
			made := calls.During(func() {
				var all sync.WaitGroup
				for _, n := range []int64{1, 2, 1, 1} {
					all.Go(func() {
						if _, err := wait(t.Context(), n); err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						order = append(order, n)
					})
					time.Sleep(15 * time.Millisecond) // the next one comes later
				}
				all.Wait()
			})
			require.Equal(t, []int64{1, 2, 1, 1}, order, name)
			require.LessOrEqual(t, made, 2*4+1, "%s: once before and once after each wait", name)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, wait := limiters(t, 20*time.Second)
		for name, wait := range wait {
			_, err := wait(t.Context(), 2)
			require.NoError(t, err, name)
			began := time.Now()
			soon, done := context.WithTimeout(t.Context(), 10*time.Second)
			_, err = wait(soon, 2)
			done()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.Zero(t, time.Since(began), "%s: at once, since it can't be in time", name)

			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			_, err = wait(ctx, 2)
			require.ErrorIs(t, err, context.Canceled, name)
			_, err = wait(t.Context(), 3)
			require.ErrorAs(t, err, new(*fault.InvalidError), "no waiting changes that")
		}
	})
	s := newPermits(t, "1/second")
	_, err := s.Wait(t.Context(), rate.PermitRequest{Token: "t", Now: s.now})
	require.ErrorContains(t, err, "waiting takes real time")
}

func TestResetAndDelete(t *testing.T) {
	t.Parallel()
	s := newPermits(t, "2/second")
	s.requireAcquired(2)
	require.NoError(t, s.Reset(t.Context()))
	s.requireAcquired(2)
	require.NoError(t, s.Delete(t.Context()))
	_, err := s.Acquire(t.Context(), rate.PermitRequest{Token: "t"})
	require.ErrorAs(t, err, new(*rate.NoRateError))
	require.Empty(t, s.client.Keys(t.Context(), "*").Val())

	b := newBucket(t, "1/second", 3)
	b.requireTaken(3)
	require.NoError(t, b.bucket.Reset(t.Context(), "alice"))
	b.requireTaken(3)
	require.Error(t, b.bucket.Reset(t.Context(), ""))
}

// A rate with a keep-alive expires when nobody has used it for so long.
func TestARateThatNobodyUsesExpires(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "push"})
	require.NoError(t, err)
	want := rate.PermitRate{Rate: rate.Rate{Count: 5, Interval: time.Second}, KeepAlive: time.Minute}
	holds, err := permits.TrySetRate(t.Context(), want)
	require.NoError(t, err)
	require.Equal(t, want, holds)
	for range 3 {
		server.FastForward(59 * time.Second)
		_, err := permits.Acquire(t.Context(), rate.PermitRequest{Token: keyspace.NewToken()})
		require.NoError(t, err)
	}
	server.FastForward(61 * time.Second)
	_, err = permits.Acquire(t.Context(), rate.PermitRequest{Token: keyspace.NewToken()})
	require.ErrorAs(t, err, new(*rate.NoRateError))
	want.KeepAlive = -time.Second
	require.EqualError(t, permits.SetRate(t.Context(), want),
		`keep_alive "-1s" is not allowed: use whole milliseconds, up to 366 days, or 0 for ever`)
}

func TestGuardOverPermitsAndTokens(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "push"})
	require.NoError(t, err)
	require.NoError(t, permits.SetRate(t.Context(), permitRate(t, "2/hour")))
	ran := 0
	guarded := rate.Guarded(rate.Guard[int64]{
		Limiter: permits, Cost: func(_ context.Context, n int64) int64 { return n },
	}, func(context.Context, int64) (int, error) { ran++; return ran, nil })
	got, err := guarded(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, 1, got)
	_, err = guarded(t.Context(), 1)
	limited := &rate.LimitedError{}
	require.ErrorAs(t, err, &limited)
	require.Equal(t, fault.CodeRateLimited, limited.Code())
	require.Positive(t, limited.Grant.RetryAfter)
	require.Equal(t, 1, ran)

	bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{Rate: rate.Rate{Count: 1, Interval: time.Hour}})
	require.NoError(t, err)
	guard := rate.Guard[*http.Request]{
		Limiter: bucket, Key: func(_ context.Context, r *http.Request) string { return r.Header.Get("Key") },
	}
	ask := func(g rate.Guard[*http.Request], key string) *httptest.ResponseRecorder {
		handler := rate.GuardHandler(g, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), nil)
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Key", key)
		handler.ServeHTTP(w, r)
		return w
	}
	require.Equal(t, http.StatusNoContent, ask(guard, "alice").Code)
	require.Equal(t, `"tokens";q=1;w=3600`, ask(guard, "carol").Header().Get("RateLimit-Policy"))
	over := ask(guard, "alice")
	require.Equal(t, `"tokens";q=1;w=3600`, over.Header().Get("RateLimit-Policy"))
	require.Regexp(t, `^"tokens";r=0;t=3(600|59\d)$`, over.Header().Get("RateLimit"))
	require.Equal(t, http.StatusTooManyRequests, over.Code)
	require.Regexp(t, `^3(600|59\d)$`, over.Header().Get("Retry-After"))
	require.Contains(t, over.Body.String(), "too many calls: try again in")
	require.Equal(t, http.StatusNoContent, ask(guard, "bob").Code)
	require.Equal(t, http.StatusNoContent, ask(guard, "").Code, "not limited")
	require.Empty(t, ask(guard, "").Header().Get("RateLimit"))
	server.Close()
	require.Equal(t, "1", ask(guard, "alice").Header().Get("Retry-After"))
	require.Equal(t, http.StatusServiceUnavailable, ask(guard, "alice").Code)
	var told error
	guard.OnUnavailable = func(_ context.Context, err error) { told = err }
	require.Equal(t, http.StatusNoContent, ask(guard, "alice").Code)
	require.ErrorAs(t, told, new(*fault.UnavailableError))
}
