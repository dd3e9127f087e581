package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
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
