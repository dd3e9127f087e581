package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// transport answers requests without a network, for tests on a simulated clock.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answered(status int, contentType, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {contentType}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// simulated returns a client. answer answers its n-th request, from 1.
func simulated(t *testing.T, o client.Options, answer func(n int, r *http.Request) (*http.Response, error)) *client.Client {
	t.Helper()
	n := 0
	o.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		n++
		return answer(n, r)
	})}
	c, err := client.New("http://api.test", o)
	require.NoError(t, err)
	return c
}

const unavailableBody = `{"outcome":"error","code":"unavailable","detail":"no Redis"}`

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		header []string
		least  time.Duration
		most   time.Duration // with the backoff of the first try on top
	}{
		{"none: the backoff alone", 503, nil, 50 * time.Millisecond, 100 * time.Millisecond},
		{"seconds", 503, []string{"Retry-After", "3"}, 3 * time.Second, 3100 * time.Millisecond},
		{"of a rate limit", 429, []string{"Retry-After", "3"}, 3 * time.Second, 3100 * time.Millisecond},
		{
			"a date, by the clock of who sent it", 503,
			[]string{"Date", "Sun, 22 Nov 2026 11:11:11 GMT", "Retry-After", "Sun, 22 Nov 2026 11:11:21 GMT"},
			10 * time.Second, 10100 * time.Millisecond,
		},
		{
			"a date in the past", 503,
			[]string{"Date", "Sun, 22 Nov 2026 11:11:11 GMT", "Retry-After", "Sun, 22 Nov 2026 11:11:01 GMT"},
			50 * time.Millisecond, 100 * time.Millisecond,
		},
		{
			"a date without a clock to read it by", 503,
			[]string{"Retry-After", "Sun, 22 Nov 2026 11:11:21 GMT"},
			50 * time.Millisecond, 100 * time.Millisecond,
		},
		{"neither", 503, []string{"Retry-After", "-1"}, 50 * time.Millisecond, 100 * time.Millisecond},
		{"as long as is waited", 503, []string{"Retry-After", "30"}, 30 * time.Second, 30100 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := simulated(t, client.Options{}, func(n int, _ *http.Request) (*http.Response, error) {
					if n == 1 {
						return answered(row.status, problemJSON, unavailableBody, row.header...), nil
					}
					return answered(http.StatusCreated, plainJSON, acceptedBody), nil
				})
				began := time.Now()
				_, err := c.Submit(t.Context(), table())
				require.NoError(t, err)
				require.GreaterOrEqual(t, time.Since(began), row.least)
				require.LessOrEqual(t, time.Since(began), row.most)
			})
		})
	}
}

func TestARetryAfterThatIsTooLongEndsTheAttempts(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"31", "86400", "99999999999999999999999", "Mon, 23 Nov 2026 11:11:11 GMT"} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			c := simulated(t, client.Options{}, func(n int, _ *http.Request) (*http.Response, error) {
				requests = n
				return answered(429, problemJSON, `{"outcome":"refused","code":"rate_limited"}`,
					"Retry-After", value, "Date", "Sun, 22 Nov 2026 11:11:11 GMT"), nil
			})
			began := time.Now()
			_, err := c.Submit(t.Context(), table())
			refusal, ok := errors.AsType[*client.Refusal](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, client.CodeRateLimited, refusal.Code)
			require.Greater(t, refusal.RetryAfter, client.DefaultMaxRetryAfter)
			require.Zero(t, time.Since(began))
			require.Equal(t, 1, requests)
		})
	}
}

func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		requests, first := 0, error(refused)
		c := simulated(t, client.Options{Attempts: 8}, func(n int, _ *http.Request) (*http.Response, error) {
			requests = n
			failed := first
			first = refused
			return nil, failed
		})
		began := time.Now()
		_, err := c.Submit(t.Context(), table())
		away, ok := errors.AsType[*client.UnavailableError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, refused, away.Err)
		require.EqualError(t, err, "submit a message: no answer from the API at http://api.test: dial: connection refused")
		require.Equal(t, 8, requests)
		require.True(t, away.Unsent)
		// 0.1, 0.2, 0.4, 0.8, 1.6, 3.2 and then 5 seconds, of each half at least.
		require.GreaterOrEqual(t, time.Since(began), 5650*time.Millisecond)
		require.LessOrEqual(t, time.Since(began), 11300*time.Millisecond)

		first = io.ErrUnexpectedEOF
		_, err = c.Submit(t.Context(), table())
		away, ok = errors.AsType[*client.UnavailableError](err)
		require.True(t, ok, "%v", err)
		require.False(t, away.Unsent, "the first try may have arrived")
	})
}

// Where an answer got lost, the message may have been accepted: with the id of
// the first try, the second finds it.
func TestARepeatedSubmitHasTheSameID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		c := simulated(t, client.Options{}, func(n int, r *http.Request) (*http.Response, error) {
			var sent struct {
				ID string `json:"id"`
			}
			require.NoError(t, json.NewDecoder(r.Body).Decode(&sent))
			ids = append(ids, sent.ID)
			switch n {
			case 1:
				return nil, io.ErrUnexpectedEOF
			case 2: // cut in the midst of the answer
				cut := answered(http.StatusCreated, plainJSON, "")
				cut.Body = io.NopCloser(io.MultiReader(strings.NewReader(acceptedBody[:20]), broken{}))
				return cut, nil
			default:
				return answered(http.StatusOK, plainJSON, acceptedBody), nil
			}
		})
		m := table()
		m.ID = ""
		_, err := c.Submit(t.Context(), m)
		require.NoError(t, err)
		require.Len(t, ids, 3)
		require.Len(t, ids[0], len("018f3a5e-0000-7000-8000-000000000000"))
		require.Equal(t, []string{ids[0], ids[0], ids[0]}, ids)
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestAStalledAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := simulated(t, client.Options{Attempts: 2, Timeout: 3 * time.Second}, func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began := time.Now()
		_, err := c.CancelMessage(t.Context(), "alice", "a")
		require.ErrorAs(t, err, new(*client.UnavailableError))
		require.EqualError(t, err, "cancel a message: no answer from the API at http://api.test: no answer in time")
		require.GreaterOrEqual(t, time.Since(began), 6*time.Second)
	})
}

func TestTheContextEndsEverything(t *testing.T) {
	t.Parallel()
	t.Run("during a try", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := simulated(t, client.Options{}, func(_ int, r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.Submit(ctx, table())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.EqualError(t, err, "submit a message: no answer yet: context deadline exceeded")
			_, unavailable := errors.AsType[*client.UnavailableError](err)
			require.False(t, unavailable, "the caller gave up, not the API")
		})
	})
	t.Run("between two tries", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := simulated(t, client.Options{}, func(int, *http.Request) (*http.Response, error) {
				return answered(503, problemJSON, unavailableBody, "Retry-After", "5"), nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			_, err := c.Submit(ctx, table())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.EqualError(t, err, "submit a message: context deadline exceeded, after: no Redis")
			require.Equal(t, time.Second, time.Since(began))
		})
	})
}

// A request that would be done twice is sent once, and the client does not wait for a quota.
func TestWhatIsNotRepeated(t *testing.T) {
	t.Parallel()
	var asked counted
	answer := func(status int, body string) *client.Client {
		return serve(t, client.Options{Attempts: 3}, func(w http.ResponseWriter, _ *http.Request) {
			asked.next()
			reply(w, problemJSON, status, body)
		})
	}
	_, err := answer(http.StatusServiceUnavailable, `{"outcome":"error","code":"unavailable"}`).AddAccountKey(t.Context(), "acme", client.APIKeyDraft{})
	require.Error(t, err)
	require.EqualValues(t, 1, asked.Load())
	_, err = answer(http.StatusTooManyRequests, `{"outcome":"refused","code":"quota_exceeded","user":"alice"}`).Submit(t.Context(), table())
	var refused *client.Refusal
	require.ErrorAs(t, err, &refused)
	require.Equal(t, client.CodeQuotaExceeded, refused.Code)
	require.EqualValues(t, 2, asked.Load())
}
