package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// To a browser, a page of a site whose name was pointed to this server belongs to this server. It
// sends no key.
func TestAnotherSitesNameLeadsHere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret := r.key("own", accounts.ScopeAdmin)
	ask := func(host, key string) int {
		q := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/accounts", http.NoBody)
		q.Host = host
		if key != "" {
			q.Header.Set("Authorization", "Bearer "+key)
		}
		got := httptest.NewRecorder()
		r.handler.ServeHTTP(got, q)
		harmless(t, got, host)
		return got.Code
	}
	for _, host := range []string{
		"", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "::1", "localhost", "LOCALHOST:8080", "app.localhost:80", "localhost.", "localhost.:8080", "app.localhost.", "worker", "worker:8080",
	} {
		require.Equal(t, http.StatusOK, ask(host, ""), host)
	}
	for _, host := range []string{
		"evil.test", "evil.test:8080", "127.0.0.1.evil.test", "127.0.0.1.nip.io:8080", "localhost.evil.test", "localhost..", "evil.", "a.b:x:y", "xlocalhost.test",
	} {
		require.Equal(t, http.StatusForbidden, ask(host, ""), host)
		require.Equal(t, http.StatusForbidden, ask(host, secret), "%s: a page may guess keys", host)
	}
	r.serves(func(o *api.Options) { o.RequireKeys = true })
	require.Equal(t, http.StatusOK, ask("api.example.com", secret))
	require.Equal(t, http.StatusUnauthorized, ask("api.example.com", ""))
}

// A request without a key that came through a proxy is not the operator's, whatever its Host.
func TestAProxyIsNoOperator(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := r.key("own", accounts.ScopeAdmin)
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via", "X-Real-IP"} {
		asked := request{method: http.MethodGet, target: "/v1/accounts", header: http.Header{}}
		asked.header.Set(name, "")
		p := r.problem(http.StatusUnauthorized, r.send(asked))
		require.Contains(t, p.Detail, "came through a proxy")
		require.Contains(t, p.Detail, "require_keys: true")
		asked.use(key)
		require.Equal(t, http.StatusOK, r.send(asked).status)
	}
}

// Who needs no key says in headers who makes a change, and for which account. A key says both
// itself.
func TestWithoutAKeyHeadersNameWhoAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"acme", "globex"} {
		_, err := r.accounts.Create(t.Context(), accounts.Account{Name: name, Disabled: name == "globex"})
		require.NoError(t, err)
	}
	ask := func(method, target, body, header, value string) reply {
		t.Helper()
		q := request{method: method, target: target, body: body, header: http.Header{}}
		q.header.Set("Content-Type", "application/json")
		if header != "" {
			q.header.Set(header, value)
		}
		return r.send(q)
	}
	draft := func(id, user string) string {
		return `{"id":"` + id + `","user":"` + user + `","send_at":"` + on22("11:11:11") + `","title":"Hi"}`
	}
	require.Equal(t, http.StatusOK, ask(http.MethodPut, "/v1/tiers/free", `{}`, api.ByHeader, "jane").status)
	require.Equal(t, "jane", r.logged()[0].By)
	require.Equal(t, http.StatusOK, ask(http.MethodPut, "/v1/policies/vip", `{"rules":["1/hour"]}`, api.ByHeader, "joe").status)
	versions := into[message.PolicyVersions](t, http.StatusOK, r.get("/v1/policies/vip/versions"))
	require.Equal(t, "joe", versions.Versions[0].By)

	require.Equal(t, http.StatusCreated, ask(http.MethodPost, messagesPath, draft("own", "alice"), api.AccountHeader, "acme").status)
	require.Equal(t, http.StatusCreated, r.post(messagesPath, draft("nobodys", "bob")).status)
	require.Equal(t, "acme", into[message.Status](t, http.StatusOK, r.get("/v1/users/alice/messages/own")).Account)
	require.Equal(t, "acme", into[message.AccountUsage](t, http.StatusOK, ask(http.MethodGet, "/v1/usage", "", api.AccountHeader, "acme")).Account)
	r.problem(http.StatusNotFound, ask(http.MethodDelete, "/v1/users/bob/messages/nobodys", "", api.AccountHeader, "acme"))
	for _, name := range []string{"Acme", "nobody", "globex"} {
		p := r.problem(http.StatusUnprocessableEntity, ask(http.MethodPost, messagesPath, draft(name, "carl"), api.AccountHeader, name))
		require.Contains(t, p.Detail, name)
	}

	for _, name := range []string{api.ByHeader, api.AccountHeader} {
		keyed := request{method: http.MethodGet, target: "/v1/accounts", header: http.Header{name: {"acme"}}}
		keyed.use(r.key("op", accounts.ScopeAdmin))
		require.Contains(t, r.problem(http.StatusUnprocessableEntity, r.send(keyed)).Detail, name)
		proxied := request{method: http.MethodGet, target: "/v1/accounts", header: http.Header{name: {"acme"}, "Via": {"1.1 proxy"}}}
		r.problem(http.StatusUnauthorized, r.send(proxied))
	}
	keys := newRig(t, locked)
	keys.problem(http.StatusUnauthorized, keys.send(request{method: http.MethodGet, target: "/v1/accounts", header: http.Header{api.ByHeader: {"jane"}}}))
}
