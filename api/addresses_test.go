package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// While the store is away, no answer to a stranger or to an account names its address: not
// the host, and not the port.
func TestNoAnswerNamesAnInternalAddress(t *testing.T) {
	t.Parallel()
	var c clock
	r := newRig(t, locked, func(o *api.Options) { o.Now = c.now })
	scopes := []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}
	account, operator := r.key("acme", scopes...), r.key("ops", accounts.ScopeAdmin)
	usage := request{method: http.MethodGet, target: "/v1/users/alice/usage"}
	asks := []request{
		usage,
		{method: http.MethodPost, target: messagesPath, body: `{"user":"alice","send_at":"now","title":"Hi"}`},
		{method: http.MethodPost, target: messagesPath + "/dry-run", body: `{"user":"alice","send_at":"now","title":"Hi"}`},
		{method: http.MethodGet, target: "/v1/users/alice/messages/a"},
		{method: http.MethodDelete, target: "/v1/users/alice/messages/a"},
		{method: http.MethodGet, target: "/v1/events?follow=false"},
		{method: http.MethodGet, target: "/v1/campaigns/spring"},
		{method: http.MethodPost, target: "/v1/campaigns/spring/cancel"},
	}
	for _, path := range []string{batchPath, checkBatchPath} {
		asks = append(asks, request{
			method: http.MethodPost, target: path, body: `{"user":"alice","send_at":"now","title":"Hi"}`,
			header: http.Header{"Content-Type": {"application/x-ndjson"}},
		})
	}
	require.Equal(t, http.StatusOK, r.with(account, usage).status)
	require.Equal(t, http.StatusOK, r.with(operator, usage).status)
	host, port := r.store.Host(), r.store.Port()
	r.store.Close()
	for _, wait := range []time.Duration{0, 2 * time.Second} { // with the key known, and with it looked up
		c.passes(wait)
		for _, key := range []string{account, "sk_guess", ""} {
			for _, q := range asks {
				if key != "" {
					q.header = q.header.Clone()
					q.use(key)
				}
				got := r.send(q)
				require.NotContains(t, string(got.body), host, q.target)
				require.NotContains(t, string(got.body), port, q.target)
				if key == "sk_guess" && got.status == http.StatusServiceUnavailable {
					require.Equal(t, "keys can't be checked at the moment: send the request again", r.problem(got.status, got).Detail)
				}
				if key == account {
					require.Equal(t, http.StatusServiceUnavailable, got.status, "%s: %s", q.target, got.body)
				}
			}
		}
	}
	require.Contains(t, string(r.with(operator, usage).body), port, "an operator reads what is wrong")
}
