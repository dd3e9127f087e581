package dashboard_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// Statuses of a route, for a caller without a login where none is needed, an operator, an
// account that submits and reads, and one that only submits.
type statuses struct{ keyless, operator, account, writer int }

// everybody is for a route that answers all callers alike.
func everybody(status int) statuses { return statuses{status, status, status, status} }

const (
	ok        = http.StatusOK
	seeOther  = http.StatusSeeOther
	forbidden = http.StatusForbidden
	notFound  = http.StatusNotFound
	invalid   = http.StatusUnprocessableEntity
)

// asked is a request for a route with what it answers. A change that asks first is sent
// confirmed.
type asked struct {
	route    string
	query    string
	form     url.Values
	body     string
	statuses statuses
}

// admins is for a route that is for operators.
func admins(status int) statuses { return statuses{status, status, forbidden, forbidden} }

// requests has a request for each route. Where a page can't be asked for twice with the same
// outcome, the outcome is that of nothing to do.
func requests() []asked {
	yes := func(fields ...string) url.Values { return form(append(fields, "confirmed", "yes")...) }
	readers := statuses{ok, ok, ok, forbidden}
	return []asked{
		{route: "GET /{$}", statuses: everybody(ok)},
		{route: "GET /login", statuses: everybody(ok)},
		{route: "POST /login", form: form("key", ""), statuses: everybody(invalid)},

		{route: "GET /search", query: "q=nobody", statuses: everybody(ok)},
		{route: "GET /users", statuses: everybody(ok)}, // who can't list them can name one
		{route: "GET /user", query: "name=alice", statuses: readers},
		{route: "GET /user/forbidden", query: "name=alice&id=m", statuses: statuses{ok, ok, notFound, forbidden}},
		{route: "POST /user/submit", form: form("name", "bob", "send_at", "now"), statuses: everybody(invalid)},
		{route: "POST /user/settings", form: form("name", "bob"), statuses: admins(ok)},
		{route: "POST /user/device", form: form("name", "bob", "device", "d", "do", "remove", "confirmed", "yes"), statuses: everybody(notFound)},
		{route: "POST /user/erase", form: yes("name", "nobody"), statuses: admins(ok)},

		{route: "GET /messages", statuses: readers},
		{route: "POST /messages", form: yes("do", "cancel", "chosen", "alice none"), statuses: everybody(notFound)},
		{route: "GET /message", query: "user=alice&id=m", statuses: statuses{ok, ok, notFound, forbidden}},
		{route: "POST /message/move", form: form("user", "alice", "id", "none", "send_at", "now"), statuses: everybody(notFound)},
		{route: "POST /message/cancel", form: yes("user", "alice", "id", "none"), statuses: everybody(notFound)},

		{route: "GET /campaigns", statuses: everybody(ok)},
		{route: "GET /campaign", query: "name=spring", statuses: readers},
		{route: "POST /campaign", form: yes("name", "spring", "do", "cancel"), statuses: statuses{notFound, notFound, notFound, forbidden}},

		{route: "GET /plan", statuses: everybody(ok)},
		{route: "POST /plan/read", body: `{"user":"alice","title":"Hi","send_at":"+1h"}`, statuses: everybody(ok)},
		{route: "POST /plan/judge", body: `{"user":"alice","id":"p","title":"Hi","send_at":"2026-11-22T11:11:11Z"}` + "\n", statuses: everybody(ok)},
		{route: "POST /plan/submit", body: "{}\n", statuses: everybody(http.StatusConflict)}, // it was not judged

		{route: "GET /policies", statuses: admins(ok)},
		{route: "GET /policy", query: "name=default", statuses: admins(ok)},
		{route: "POST /policy/check", form: form("name", "p", "rules", "1/minute"), statuses: admins(ok)}, // says what is wrong, and reads nothing
		{route: "POST /policy/apply", form: form("name", "p", "rules", "1/eon"), statuses: admins(invalid)},
		{route: "POST /policy/dry-run", form: form("name", "default", "rules", "1/minute"), statuses: admins(ok)},
		{route: "POST /policy/refit", form: form("name", "default", "then", "shift"), statuses: admins(ok)},
		{route: "POST /policy/rollback", form: yes("name", "default", "version", "99"), statuses: admins(notFound)},
		{route: "POST /policy/delete", form: yes("name", "none"), statuses: admins(notFound)},

		{route: "GET /schedule", statuses: admins(ok)},

		{route: "GET /accounts", statuses: admins(ok)},
		{route: "POST /accounts", form: form("account", "No Name"), statuses: admins(invalid)},
		{route: "GET /account", query: "name=own", statuses: readers},
		{route: "POST /account/change", form: form("name", "none"), statuses: admins(notFound)},
		{route: "POST /account/key", form: form("name", "none", "do", "add"), statuses: admins(notFound)},
		{route: "GET /tiers", statuses: admins(ok)},
		{route: "POST /tiers", form: form("tier", "No Name"), statuses: admins(invalid)},

		{route: "GET /dead-letters", statuses: admins(ok)},
		{route: "POST /dead-letters", form: form("do", "retry", "chosen", "alice none"), statuses: admins(notFound)},
		{route: "GET /alerts", statuses: admins(ok)},
		{route: "POST /alerts", form: form("do", "retry", "alert", "none"), statuses: admins(invalid)},

		{route: "POST /sending", form: form("do", "stop", "reason", " "), statuses: admins(invalid)},
		{route: "GET /workers", statuses: admins(ok)},
		{route: "POST /workers/pace", form: form("rate", "fast"), statuses: admins(invalid)},
		{route: "POST /workers/channel", form: yes("channel", "none"), statuses: admins(ok)},
		{route: "GET /audit", statuses: readers},

		{route: "GET /live", statuses: statuses{0, 0, forbidden, forbidden}}, // it goes on, see live_test.go
		{route: "POST /logout", statuses: everybody(seeOther)},               // the last
	}
}

// send sends the request in a browser.
func (q asked) send(b *browser, header ...http.Header) answer {
	b.Helper()
	method, path, _ := strings.Cut(q.route, " ")
	target := strings.TrimSuffix(path, "{$}")
	if q.query != "" {
		target += "?" + q.query
	}
	body := q.body
	if q.form != nil {
		body = q.form.Encode()
		header = append(header, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	}
	return b.ask(method, target, body, header...)
}

// callers are one of each kind, each with a store of their own.
func callers() map[string]struct {
	begin func(tb testing.TB) *browser
	of    func(statuses) int
} {
	return map[string]struct {
		begin func(tb testing.TB) *browser
		of    func(statuses) int
	}{
		"without a login": {func(tb testing.TB) *browser { tb.Helper(); return keyless(tb).browser() }, func(s statuses) int { return s.keyless }},
		"operator":        {func(tb testing.TB) *browser { tb.Helper(); return locked(tb).operator() }, func(s statuses) int { return s.operator }},
		"account":         {func(tb testing.TB) *browser { tb.Helper(); return locked(tb).sender("own") }, func(s statuses) int { return s.account }},
		"writer":          {func(tb testing.TB) *browser { tb.Helper(); return locked(tb).writer("own") }, func(s statuses) int { return s.writer }},
	}
}

// A route without a request here has no test.
func TestEveryRouteIsAskedFor(t *testing.T) {
	t.Parallel()
	var asked []string
	for _, q := range requests() {
		asked = append(asked, q.route)
	}
	require.ElementsMatch(t, keyless(t).pages.Routes(), asked)
}

func TestEveryRouteForEveryCaller(t *testing.T) {
	t.Parallel()
	for name, caller := range callers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := caller.begin(t)
			b.key("own", accounts.ScopeRead) // there is the account
			b.submits("m", "+1h")
			for _, q := range requests() {
				want := caller.of(q.statuses)
				if want == 0 {
					continue
				}
				got := q.send(b, script())
				assert.Equal(t, want, got.status, "%s: %s", q.route, got.body)
				if got.status == forbidden {
					require.Contains(t, got.body, "requires the scope", q.route)
				}
			}
		})
	}
}

// A person gets a page with a sentence where a script gets a problem.
func TestARefusalIsAPage(t *testing.T) {
	t.Parallel()
	r := locked(t)
	b := r.sender("own")
	for _, q := range requests() {
		if q.statuses.account != forbidden {
			continue
		}
		got := q.send(b)
		if got.status == seeOther {
			require.Contains(t, b.refused(got), "scope admin", q.route)
			continue
		}
		if strings.HasPrefix(got.header.Get("Content-Type"), "application/problem") {
			require.Contains(t, got.body, "scope", q.route) // only scripts ask for it
			continue
		}
		require.Equal(t, forbidden, got.status, q.route)
		require.Contains(t, got.page().plain(), "scope admin", q.route)
	}
}

func TestWithoutALogin(t *testing.T) {
	t.Parallel()
	b := locked(t).browser()
	for _, q := range requests() {
		if strings.HasSuffix(q.route, "/login") {
			continue
		}
		got := q.send(b, script())
		require.Equal(t, "unauthorized", got.json(http.StatusUnauthorized)["code"], q.route)
		if got = q.send(b); !strings.HasPrefix(q.route, "GET ") {
			require.Equal(t, http.StatusUnauthorized, got.status, q.route)
			require.Contains(t, got.page().plain(), "Your session has ended", q.route)
			continue
		}
		require.Equal(t, seeOther, got.status, q.route)
		to, err := url.Parse(got.to())
		require.NoError(t, err)
		require.Equal(t, "/login", to.Path, q.route)
		if path := strings.TrimPrefix(q.route, "GET "); path != "/{$}" {
			require.Equal(t, strings.TrimSuffix(path+"?"+q.query, "?"), to.Query().Get("to"), "one gets to the page after the login")
		}
	}
	require.Empty(t, b.entries())
}

// Paths of other methods, and other paths, are nobody's.
func TestOtherRoutes(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	require.Equal(t, http.StatusMethodNotAllowed, b.ask(http.MethodDelete, "/user", "").status)
	require.Equal(t, http.StatusMethodNotAllowed, b.get("/user/erase").status)
	require.Equal(t, notFound, b.get("/user/..%2f").status)
	require.Equal(t, notFound, b.get("/assets/none.js").status)
	for _, path := range []string{"/", "/user", "/workers/channel", b.pages.Assets()["live.js"]} {
		require.True(t, b.pages.Serves(path), path)
	}
	for _, path := range []string{"", "/v1/messages", "/docs", "/metrics", "/healthz", "/user/", "/assets/", "/assets/live.js"} {
		require.False(t, b.pages.Serves(path), path)
	}
}

// The menu has no page that refuses the caller.
func TestTheMenuHasWhatTheCallerMayUse(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	sizes := make(map[string]int)
	for name, caller := range callers() {
		b := caller.begin(t)
		lists := b.shows("/").find("nav", "aria-label", "Pages")
		require.Len(t, lists, 1)
		paths := make(map[string]bool)
		for n := range lists[0].Descendants() {
			if n.Data == "a" {
				paths[attribute(n, "href")] = true
			}
		}
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			b.shows(path)
		}
		sizes[name] = len(paths)
	}
	require.Equal(t, map[string]int{"without a login": 12, "operator": 12, "account": 7, "writer": 2}, sizes)
}
