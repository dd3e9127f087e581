package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// Every documented status becomes one kind of error, and so does an answer from a proxy.
func TestEveryStatusIsOneKindOfError(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, contentType string
		status            int
		body              string
		want              any
		says              string
	}{
		{
			"wrong field", problemJSON, http.StatusUnprocessableEntity,
			`{"outcome":"invalid","code":"invalid_field","field":"user","detail":"user \"\" is not allowed"}`,
			&client.InvalidError{Outcome: client.Outcome{Outcome: "invalid", Code: client.CodeInvalidField, Field: "user", Detail: `user "" is not allowed`}, RequestID: "r-1"},
			`user "" is not allowed`,
		},
		{
			"in the past", problemJSON, http.StatusUnprocessableEntity, `{"outcome":"invalid","code":"in_past","field":"send_at"}`,
			&client.InvalidError{Outcome: client.Outcome{Outcome: "invalid", Code: client.CodeInPast, Field: "send_at"}, RequestID: "r-1"}, "invalid: in_past",
		},
		{
			"no JSON", problemJSON, http.StatusBadRequest, `{"outcome":"invalid","code":"invalid_field","field":"body","detail":"d"}`,
			&client.InvalidError{Outcome: client.Outcome{Outcome: "invalid", Code: client.CodeInvalidField, Field: "body", Detail: "d"}, RequestID: "r-1"}, "d",
		},
		{
			"id reused", problemJSON, http.StatusConflict, `{"outcome":"refused","code":"id_reused","user":"alice","id":"a"}`,
			&client.Refusal{Outcome: client.Outcome{Outcome: "refused", Code: client.CodeIDReused, User: "alice", ID: "a"}, RequestID: "r-1"}, "refused: id_reused",
		},
		{
			"blocked", problemJSON, http.StatusForbidden, `{"outcome":"refused","code":"blocked","user":"alice","detail":"d"}`,
			&client.Refusal{Outcome: client.Outcome{Outcome: "refused", Code: client.CodeBlocked, User: "alice", Detail: "d"}, RequestID: "r-1"}, "d",
		},
		{
			"rate limited", problemJSON, http.StatusTooManyRequests, `{"outcome":"refused","code":"rate_limited","detail":"d"}`,
			&client.Refusal{Outcome: client.Outcome{Outcome: "refused", Code: client.CodeRateLimited, Detail: "d"}, RetryAfter: 7 * time.Second, RequestID: "r-1"}, "d",
		},
		{
			"quota exceeded", problemJSON, http.StatusTooManyRequests,
			`{"outcome":"refused","code":"quota_exceeded","user":"alice","detail":"d","resets_at":"2026-11-22T12:00:00.000Z"}`,
			&client.Refusal{Outcome: client.Outcome{Outcome: "refused", Code: client.CodeQuotaExceeded, User: "alice", Detail: "d", ResetsAt: wire(at("2026-11-22T12:00:00Z"))}, RetryAfter: 7 * time.Second, RequestID: "r-1"}, "d",
		},
		{
			"quota of a later day exceeded", problemJSON, http.StatusConflict,
			`{"outcome":"refused","code":"quota_exceeded","user":"alice","detail":"d","resets_at":"2026-12-22T00:00:00.000Z","retry_after_seconds":86400}`,
			&client.Refusal{Outcome: client.Outcome{Outcome: "refused", Code: client.CodeQuotaExceeded, User: "alice", Detail: "d", ResetsAt: wire(at("2026-12-22T00:00:00Z")), RetryAfterSeconds: 86400}, RetryAfter: 24 * time.Hour, RequestID: "r-1"}, "d",
		},
		{
			"rate limited by a proxy", "text/html", http.StatusTooManyRequests, `<h1>slow down</h1>`,
			&client.Refusal{Outcome: client.Outcome{Outcome: "refused", Code: client.CodeRateLimited}, RetryAfter: 7 * time.Second, RequestID: "r-1"}, "refused: rate_limited",
		},
		{
			"store full", problemJSON, http.StatusServiceUnavailable, `{"outcome":"error","code":"store_full","detail":"d"}`,
			&client.UnavailableError{Code: client.CodeStoreFull, Detail: "d", RetryAfter: 7 * time.Second, RequestID: "r-1"}, "d",
		},
		{
			"unauthorized", problemJSON, http.StatusUnauthorized, `{"outcome":"error","code":"unauthorized","detail":"d"}`,
			&client.ResponseError{Status: http.StatusUnauthorized, Code: client.CodeUnauthorized, Detail: "d", RequestID: "r-1"},
			"HTTP status 401: d",
		},
		{
			"no such address: nothing about a message", problemJSON, http.StatusNotFound, `{"outcome":"refused","code":"not_found","detail":"d"}`,
			&client.ResponseError{Status: http.StatusNotFound, Code: client.CodeNotFound, Detail: "d", RequestID: "r-1"},
			"HTTP status 404: d",
		},
		{
			"another server", "text/html", http.StatusNotFound, `<h1>Not found</h1>`,
			&client.ResponseError{Status: http.StatusNotFound, RequestID: "r-1"},
			"HTTP status 404: the API answered in a way that it does not document",
		},
		{
			"a problem cut short by its writer", problemJSON, http.StatusConflict, `{"outcome":"refu`,
			&client.ResponseError{Status: http.StatusConflict, RequestID: "r-1"},
			"HTTP status 409: the API answered in a way that it does not document",
		},
		{
			"a redirect is not followed", "text/html", http.StatusTemporaryRedirect, ``,
			&client.ResponseError{Status: http.StatusTemporaryRedirect, RequestID: "r-1"},
			"HTTP status 307: the API answered in a way that it does not document",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var requests counted
			c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
				requests.next()
				w.Header().Set("X-Request-Id", "r-1")
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Location", r.URL.Path)
				reply(w, row.contentType, row.status, row.body)
			})
			_, err := c.Submit(t.Context(), table())
			require.EqualError(t, err, "submit a message: "+row.says)
			require.Equal(t, row.want, errors.Unwrap(err))
			require.EqualValues(t, 1, requests.Load())
		})
	}
}

// A line of a batch has no header that says how long to wait.
func TestARefusalSaysHowLongItLasts(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int64]time.Duration{90: 90 * time.Second, 0: 0, -1: 0, 1 << 62: 365 * 24 * time.Hour} {
		c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
			streaming(t, w, r, func(n int, _ line) string {
				return fmt.Sprintf(`{"outcome":"refused","line":%d,"code":"quota_exceeded","retry_after_seconds":%d}`, n, seconds)
			})
		})
		for result, err := range c.SubmitBatch(t.Context(), numbered(1)) {
			require.NoError(t, err)
			var refusal *client.Refusal
			require.ErrorAs(t, result.Err, &refusal)
			require.Equal(t, want, refusal.RetryAfter)
		}
	}
}

func TestAProxyThatFindsNoAPI(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) { reply(w, "text/html", status, "<h1>sorry</h1>") })
		_, err := c.Message(t.Context(), "alice", "a")
		away, ok := errors.AsType[*client.UnavailableError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, client.CodeUnavailable, away.Code)
	}
}

func TestNothingIsKnownOfAMessage(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) {
		reply(w, problemJSON, http.StatusNotFound, `{"outcome":"refused","code":"not_found","user":"alice","id":"a","detail":"nothing is known"}`)
	})
	_, err := c.Message(t.Context(), "alice", "a")
	require.ErrorIs(t, err, client.ErrNotFound)
	require.EqualError(t, err, "get a message and its status: nothing is known")
	_, err = c.CancelMessage(t.Context(), "alice", "a")
	require.ErrorIs(t, err, client.ErrNotFound)
	c = serve(t, once(), func(w http.ResponseWriter, _ *http.Request) {
		reply(w, problemJSON, http.StatusNotFound, `{"outcome":"refused","code":"not_found","field":"tier"}`)
	})
	require.ErrorIs(t, second(c.Tier(t.Context(), "gold")), client.ErrNotFound)
}

// A success that is not the API's must not count as accepted.
func TestASuccessThatIsNone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, contentType, body string }{
		{"a page", "text/html", "<h1>It works!</h1>"},
		{"no JSON", plainJSON, "accepted"},
		{"nothing", plainJSON, ""},
		{"another object", plainJSON, `{"ok":true}`},
		{"another outcome", plainJSON, `{"outcome":"cancelled","id":"a","user":"alice"}`},
		{"a list", plainJSON, `[]`},
		{"a null", plainJSON, `null`},
		{"no time", plainJSON, `{"outcome":"accepted","send_at":"soon"}`},
		{"without a type", "", acceptedBody},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var requests counted
			c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				requests.next()
				reply(w, row.contentType, http.StatusOK, row.body)
			})
			accepted, err := c.Submit(t.Context(), table())
			require.ErrorAs(t, err, new(*client.ResponseError))
			require.Zero(t, accepted)
			require.EqualValues(t, 1, requests.Load(), "another try would not help")
		})
	}
}
