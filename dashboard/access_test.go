package dashboard_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/dashboard"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/session"
)

const (
	cookie       = "sendlimit_session"
	secureCookie = "__Host-sendlimit_session"
)

// overTLS is a browser that asks over TLS.
func (r *rig) overTLS() *browser {
	b := r.browser()
	b.tls = true
	return b
}

func sessionCookie(t *testing.T, got answer) *http.Cookie {
	t.Helper()
	for _, c := range got.set {
		if strings.HasSuffix(c.Name, cookie) {
			return c
		}
	}
	require.Fail(t, "no cookie", "%v", got.header)
	return nil
}

func TestTheCookieOfASession(t *testing.T) {
	t.Parallel()
	r := locked(t)
	key := r.key("ops", accounts.ScopeAdmin)
	plain := sessionCookie(t, r.browser().post("/login", "key", key))
	require.Equal(t, cookie, plain.Name)
	require.False(t, plain.Secure)
	secure := sessionCookie(t, r.overTLS().post("/login", "key", " "+key+"\n"))
	require.Equal(t, secureCookie, secure.Name)
	require.True(t, secure.Secure)
	for _, c := range []*http.Cookie{plain, secure} {
		require.True(t, c.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
		require.Equal(t, began().Add(session.Lasts), c.Expires.UTC())
		require.NotContains(t, c.Value, key[3:])
	}
	require.NotContains(t, r.log.String(), key)
	require.NotContains(t, r.log.String(), secure.Value)
	require.Contains(t, r.log.String(), `level=INFO msg="a session of the dashboard has begun" account=ops key=`+key[3:11]+" address=127.0.0.1\n")

	// A session of a plain connection is none over TLS: anybody on the way could have set it.
	b := r.overTLS()
	b.cookies[cookie] = plain.Value
	require.Equal(t, seeOther, b.get("/").status)
}

func TestHeadersOfProxiesAreBelievedOfTrustedOnesOnly(t *testing.T) {
	t.Parallel()
	https := http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-For": {"203.0.113.5, 198.51.100.9, 127.0.0.2"}}
	for name, row := range map[string]struct {
		trusted []netip.Prefix
		cookie  string
		address string
	}{
		"nobody is trusted":    {nil, secureCookie, "127.0.0.1"},
		"the proxy is trusted": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, secureCookie, "198.51.100.9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, true, func(o *dashboard.Options) { o.TrustedProxies = row.trusted })
			b := r.browser()
			got := b.send("/login", form("key", r.key("ops", accounts.ScopeAdmin)), https)
			require.Equal(t, row.cookie, sessionCookie(t, got).Name)
			said := r.browser().send("/login", form("key", r.key("ops", accounts.ScopeAdmin)), http.Header{"Origin": {"https://" + r.browser().host}})
			require.True(t, sessionCookie(t, said).Secure, "the browser knows that it asked over TLS")
			require.True(t, b.send("/tiers", form("tier", "blue"), https).set[0].Secure, "what is said of a change")
			require.Equal(t, ok, b.send("/tiers", form("tier", "gold"), https, script()).status)
			require.Equal(t, row.address, r.entries()[0].Address)
		})
	}
}

func TestCookiesThatAreNoSession(t *testing.T) {
	t.Parallel()
	r := locked(t)
	valid := r.operator().cookies[cookie]
	for _, value := range []string{"", "x", "....", valid[:len(valid)-1] + "x", valid + ".x", strings.Repeat("x.", 10_000)} {
		forged := r.browser()
		forged.cookies[cookie] = value
		require.Equal(t, seeOther, forged.get("/").status, value)
		require.Equal(t, http.StatusUnauthorized, forged.postScript("/tiers", "tier", "t").status, value)
	}
	require.Empty(t, r.entries())
}

// ends requires that a session is one, and is none after something happened and a second passed.
func (b *browser) ends(what func()) {
	b.Helper()
	b.shows("/")
	what()
	b.passes(time.Second)
	require.Equal(b, http.StatusUnauthorized, b.get("/", script()).status)
}

// Package session has all that ends a session.
func TestASessionEndsWithItsAccount(t *testing.T) {
	t.Parallel()
	r := locked(t)
	yes, no := true, false
	b := r.operator()
	b.ends(func() {
		_, err := r.accounts.Set(t.Context(), "ops", accounts.Change{Disabled: &yes})
		require.NoError(t, err)
	})
	_, err := r.accounts.Set(t.Context(), "ops", accounts.Change{Disabled: &no})
	require.NoError(t, err)
	b.shows("/")

	b.ends(func() { r.passes(session.Lasts) })
}

func TestLogout(t *testing.T) {
	t.Parallel()
	r := locked(t)
	b, other := r.operator(), r.operator()
	stolen := r.browser()
	stolen.cookies[cookie] = b.cookies[cookie]
	stolen.shows("/")
	got := b.post("/logout")
	require.Equal(t, seeOther, got.status)
	require.Equal(t, "/login", got.to())
	require.NotContains(t, b.cookies, cookie)
	require.Equal(t, http.StatusUnauthorized, stolen.get("/", script()).status, "the cookie is worth nothing any more")
	other.shows("/")
}

func TestWrongKeysAreThrottled(t *testing.T) {
	t.Parallel()
	r := locked(t)
	key := r.key("ops", accounts.ScopeAdmin)
	b := r.browser()
	for range 10 {
		got := b.post("/login", "key", "sk_guess", "to", "/users?policy=p")
		require.Equal(t, http.StatusUnauthorized, got.status)
		shown := got.page()
		require.Contains(t, shown.plain(), "The key is unknown, has expired, or its account is disabled.")
		require.Equal(t, []string{"key"}, shown.marked())
		require.Equal(t, "/users?policy=p", shown.fields("/login").Get("to"))
		require.Empty(t, shown.value("key"), "a key is not sent back")
	}
	got := b.post("/login", "key", "sk_guess")
	require.Equal(t, http.StatusTooManyRequests, got.status)
	require.Empty(t, got.set)
	require.Equal(t, seeOther, b.post("/login", "key", key).status, "a valid key need not wait")
	require.Equal(t, http.StatusTooManyRequests, r.browser().post("/login", "key", "sk_guess").status)
	r.passes(time.Minute + time.Second)
	require.Equal(t, http.StatusUnauthorized, r.browser().post("/login", "key", "sk_guess").status)
}

// A key that may do too little for the question that checks it is a key all the same.
func TestAKeyOfAnyScopeLogsIn(t *testing.T) {
	t.Parallel()
	r := locked(t)
	r.writer("own").shows("/")
	for _, key := range []string{"", "  ", "sk_a sk_b", "sk_a,sk_b", "Bearer sk_a"} {
		require.Equal(t, invalid, r.browser().post("/login", "key", key).status, key)
	}
}

func TestALoginLeadsToNoOtherSite(t *testing.T) {
	t.Parallel()
	r := locked(t)
	key := r.key("ops", accounts.ScopeAdmin)
	for to, leads := range map[string]string{
		"/users?policy=a%2Fb": "/users?policy=a%2Fb",
		"/user?name=%2F%2Fx":  "/user?name=%2F%2Fx",
		"":                    "/",
		"//evil.example":      "/",
		"/\\evil.example":     "/",
		"\\\\evil.example":    "/",
		"https://evil.com/":   "/",
		"javascript:alert(1)": "/",
		"users":               "/",
		"/\t/evil.example":    "/",
		"/\n/evil.example":    "/",
		"\t//evil.example":    "/",
		"/users\r\nX-Evil: 1": "/",
		" //evil.example":     "/",
	} {
		got := r.browser().post("/login", "key", key, "to", to)
		require.Equal(t, seeOther, got.status)
		require.Equal(t, leads, got.to(), "%q", to)
		require.Empty(t, got.header.Get("X-Evil"))
		require.Equal(t, leads, r.browser().get("/login?to="+url.QueryEscape(to)).page().fields("/login").Get("to"), "%q", to)
	}
}

// A page of another site can have its name resolve to this server.
func TestWithoutKeysTheHostIsNoNameOfAnotherSite(t *testing.T) {
	t.Parallel()
	r := keyless(t)
	for host, status := range map[string]int{
		"127.0.0.1": ok, "127.0.0.1:8080": ok, "[::1]:8080": ok, "localhost:8080": ok, "LOCALHOST": ok, "worker": ok,
		"evil.example": forbidden, "evil.example:8080": forbidden, "localhost.evil.example": forbidden, "127.0.0.1.evil.example": forbidden, "evil.": forbidden,
	} {
		b := r.browser()
		b.host = host
		require.Equal(t, status, b.get("/").status, host)
		got := b.postScript("/tiers", "tier", "t")
		require.Equal(t, status, got.status, host)
		if status == forbidden {
			require.Contains(t, got.body, "localhost", host)
			require.Empty(t, b.get("/live").header.Get("X-Accel-Buffering"))
		}
	}
	// Through a proxy on this machine comes anybody, under any name.
	proxied := http.Header{"X-Forwarded-For": {"203.0.113.5"}}
	got := r.browser().send("/tiers", form("tier", "t"), proxied, script())
	require.Contains(t, got.json(http.StatusUnauthorized)["detail"], "require_keys: true")
	require.Equal(t, seeOther, r.browser().send("/login", form("key", r.key("ops", accounts.ScopeAdmin)), proxied).status)
}

func TestChangesThatAnotherSiteAsksForAreRefused(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*browser{"keyless": keyless(t).browser(), "operator": locked(t).operator()} {
		for _, header := range []http.Header{
			{"Sec-Fetch-Site": {"cross-site"}},
			{"Sec-Fetch-Site": {"same-site"}},
			{"Origin": {"https://evil.example"}},
			{"Origin": {"null"}},
			{"Origin": {"http://127.0.0.1:9090"}},
		} {
			for _, q := range requests() {
				if strings.HasPrefix(q.route, "POST ") {
					got := q.send(b, header)
					require.Equal(t, forbidden, got.status, "%s %s %v", name, q.route, header)
					require.Empty(t, got.set, q.route)
					require.Equal(t, "cross_origin", q.send(b, header, script()).json(forbidden)["code"])
				}
			}
		}
		require.Empty(t, b.entries())
		for _, header := range []http.Header{{"Sec-Fetch-Site": {"same-origin"}, "Origin": {"http://127.0.0.1:8080"}}, {"Sec-Fetch-Site": {"none"}}, {}} {
			b.done(b.send("/tiers", form("tier", "t"), header))
		}
	}
}
