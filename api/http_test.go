package api_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A caller that has the present version is told so without a body.
func TestAVersionThatTheCallerHas(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	for target, tag := range map[string]string{vipPath: `"1"`, aliceSettings: `"0"`} {
		for given, known := range map[string]bool{
			tag: true, "W/" + tag: true, `"x", ` + tag: true, "*": true, `"x"`: false, "": false,
		} {
			got := r.send(request{method: http.MethodGet, target: target, header: http.Header{"If-None-Match": {given}}})
			require.Equal(t, tag, got.header.Get("ETag"))
			if !known {
				require.Equal(t, http.StatusOK, got.status, given)
				continue
			}
			require.Equal(t, http.StatusNotModified, got.status, given)
			require.Empty(t, got.body)
			require.NotEmpty(t, got.header.Get("X-Request-Id"))
		}
	}
}

func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, method := range []string{"BREW", "get", "PROPFIND"} {
		p := r.problem(http.StatusNotImplemented, r.send(request{method: method, target: "/v1/stats"}))
		require.Equal(t, "not_implemented", string(p.Code), method)
	}
}

// A browser that has been here over TLS comes again only so. Whatever it gets, it guesses no type,
// tells no other site where it was, and lets no page show it.
func TestHeadersThatBrowsersHonour(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, secured := range []*tls.ConnectionState{nil, {}} {
		for _, target := range []string{"/v1/stats", "/nothing", "/docs", "/openapi.json", "/problems/forbidden"} {
			q := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
			q.TLS = secured
			q.Header.Set("Origin", "https://shop.example")
			got := httptest.NewRecorder()
			r.handler.ServeHTTP(got, q)
			want := ""
			if secured != nil {
				want = "max-age=31536000"
			}
			require.Equal(t, want, got.Header().Get("Strict-Transport-Security"), target)
			require.Equal(t, "nosniff", got.Header().Get("X-Content-Type-Options"), target)
			require.Equal(t, "no-referrer", got.Header().Get("Referrer-Policy"), target)
			require.Regexp(t, "^default-src 'none'; .*frame-ancestors 'none'$", got.Header().Get("Content-Security-Policy"), target)
			require.Empty(t, got.Header().Values("Access-Control-Allow-Origin"), "no page of another site reads it")
		}
	}
}
