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

// Whoever may set contacts must not make the workers call internal servers.
func TestInternalContactsAreRefused(t *testing.T) {
	t.Parallel()
	const internal, shown = "https://169.254.169.254/latest/s3cret", "https://169.254.169.254/…"
	r := newRig(t)
	accountBefore := r.send(request{method: http.MethodPost, target: "/v1/accounts", body: `{"name":"acme"}`})
	require.Equal(t, http.StatusCreated, accountBefore.status)
	writes := []struct{ method, path, field, body string }{
		{http.MethodPost, "/v1/accounts", "contact", `{"name":"other","contact":"` + internal + `"}`},
		{http.MethodPatch, "/v1/accounts/acme", "contact", `{"contact":"` + internal + `"}`},
		{http.MethodPut, "/v1/users/alice/settings", "contact", `{"contact":"` + internal + `"}`},
		{http.MethodPatch, "/v1/users/alice/settings", "contact", `{"contact":"` + internal + `"}`},
		{http.MethodPut, "/v1/policies/vip", "alert_to", `{"rules":["5/hour"],"alert_to":"` + internal + `"}`},
	}
	for _, w := range writes {
		got := r.send(request{method: w.method, target: w.path, body: w.body})
		require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s %s: %s", w.method, w.path, got.body)
		require.Contains(t, string(got.body), `"field":"`+w.field+`"`)
		require.Contains(t, string(got.body), shown)
		require.Contains(t, string(got.body), "allow_internal_webhooks")
		require.NotContains(t, string(got.body), "s3cret")
	}
	r.serves(func(o *api.Options) { o.Contacts.AllowInternal = true })
	for _, w := range writes {
		got := r.send(request{method: w.method, target: w.path, body: w.body})
		require.Less(t, got.status, 300, "%s %s: %s", w.method, w.path, got.body)
	}
	// An existing contact stays, and does not prevent another change.
	r.serves(func(o *api.Options) { o.Contacts.AllowInternal = false })
	got := r.send(request{method: http.MethodPatch, target: "/v1/users/alice/settings", body: `{"blocked":true}`})
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
}
