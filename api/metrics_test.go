package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// measured serves a page of metrics.
func measured(o *api.Options) {
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) })
}

func TestMetricsAreForOperators(t *testing.T) {
	t.Parallel()
	metrics := request{method: http.MethodGet, target: "/metrics"}
	open, r := newRig(t, measured), newRig(t, measured, locked)
	require.Equal(t, "up 1\n", string(open.send(metrics).body), "where no key is asked for")
	require.Equal(t, fault.CodeUnauthorized, r.problem(http.StatusUnauthorized, r.send(metrics)).Code)
	require.Equal(t, http.StatusUnauthorized, r.with("sk_wrong", metrics).status)
	for _, scope := range []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead} {
		refused := r.with(r.key("own", scope), metrics)
		require.Equal(t, fault.CodeForbidden, r.problem(http.StatusForbidden, refused).Code, "they tell of other accounts")
	}
	secret := r.key("own", accounts.ScopeAdmin)
	require.Equal(t, "up 1\n", string(r.with(secret, metrics).body))
	require.Equal(t, http.StatusOK, r.with(secret, request{method: http.MethodHead, target: "/metrics"}).status)
	require.Equal(t, http.StatusMethodNotAllowed, r.with(secret, request{method: http.MethodPost, target: "/metrics"}).status)
	require.Equal(t, http.StatusNotFound, newRig(t).send(metrics).status, "there are none")
}

// Metrics are looked at when all is not well.
func TestMetricsOutlastTheStore(t *testing.T) {
	t.Parallel()
	var c clock
	r := newRig(t, measured, locked, func(o *api.Options) { o.Now = c.now })
	metrics := request{method: http.MethodGet, target: "/metrics"}
	secret, removed, unseen := r.key("own", accounts.ScopeAdmin), r.key("other", accounts.ScopeAdmin), r.key("other", accounts.ScopeAdmin)
	require.Equal(t, http.StatusOK, r.with(secret, metrics).status)
	require.Equal(t, http.StatusOK, r.with(removed, metrics).status)
	_, err := r.accounts.RemoveKey(t.Context(), "other", removed[3:11])
	require.NoError(t, err)
	c.passes(2 * time.Second)
	require.Equal(t, http.StatusUnauthorized, r.with(removed, metrics).status)
	r.store.Close()
	require.Equal(t, http.StatusOK, r.with(secret, metrics).status)
	for _, other := range []string{removed, unseen, "sk_wrong"} {
		require.Equal(t, http.StatusServiceUnavailable, r.with(other, metrics).status)
	}
	look := request{method: http.MethodGet, target: "/v1/users/alice/usage"}
	require.Equal(t, http.StatusServiceUnavailable, r.with(secret, look).status, "the metrics alone")
	c.passes(time.Hour)
	require.Equal(t, http.StatusServiceUnavailable, r.with(secret, metrics).status, "not for ever")
}
