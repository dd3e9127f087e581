package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// A tier's requests per day are counted like those per minute: each kind separately, and shown in
// every answer, in the refusal and by usage.
func TestRequestsPerDay(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked, atNow)
	set := r.direct(r.key("op", accounts.ScopeAdmin), request{
		method: http.MethodPut, target: "/v1/tiers/small", body: `{"requests_per_minute":100,"requests_per_day":3}`,
	})
	require.Equal(t, http.StatusOK, set.status, "%s", set.body)
	require.Contains(t, string(set.body), `"requests_per_day":3`)
	_, err := r.accounts.Create(t.Context(), accounts.Account{Name: "own", Tier: "small", TimeZone: "Asia/Tokyo"})
	require.NoError(t, err)
	key := r.key("own", accounts.ScopeSubmit, accounts.ScopeRead)

	submits := request{method: http.MethodPost, target: "/v1/messages/dry-run", body: `{"user":"alice","send_at":"now","title":"a"}`}
	for left := range 3 {
		got := r.direct(key, submits)
		require.Equal(t, http.StatusOK, got.status, "%s", got.body)
		require.Contains(t, got.header.Get("RateLimit-Policy"), `"requests_per_day";q=3;w=86400`)
		require.Contains(t, got.header.Get("RateLimit"), `"requests_per_day";r=`+string(rune('2'-left))+";t=")
	}
	got := r.direct(key, submits)
	require.Equal(t, http.StatusTooManyRequests, got.status)
	require.Contains(t, string(got.body), `"rate_limited"`)
	require.Contains(t, string(got.body), "requests_per_day")
	require.NotEmpty(t, got.header.Get("Retry-After"))

	got = r.direct(key, request{method: http.MethodGet, target: "/v1/usage"})
	require.Equal(t, http.StatusOK, got.status, "reads have a counter of their own")
	require.Contains(t, got.header.Get("RateLimit"), `"reads_per_day";r=2;t=`)
	var usage message.AccountUsage
	require.NoError(t, json.Unmarshal(got.body, &usage))
	require.NotNil(t, usage.Requests)
	require.Equal(t, int64(3), usage.Requests.Submit.Used)
	require.Zero(t, usage.Requests.Submit.Remaining)
	require.Equal(t, int64(1), usage.Requests.Read.Used, "this one")
	require.Equal(t, int64(3), usage.Requests.Change.Remaining)
	require.Equal(t, "2026-11-21T00:00:00Z", usage.Requests.Read.From.Format("2006-01-02T15:04:05Z07:00"), "in UTC")

	// The next day begins with nothing used.
	r.store.SetTime(now().AddDate(0, 0, 1))
	got = r.direct(key, request{method: http.MethodGet, target: "/v1/usage"})
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.header.Get("RateLimit"), `"reads_per_day";r=2;t=`)
}
