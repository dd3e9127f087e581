package dashboard_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// populated is a store that has something for every page.
func populated(t *testing.T) *browser {
	t.Helper()
	b := keyless(t).browser()
	b.submits("m", "+1h")
	b.fails("dead")
	b.done(b.post("/accounts", "account", "own"))
	b.done(b.post("/tiers", "tier", "gold", "messages_per_day", "10"))
	b.done(b.post("/user/settings", "name", "alice", "limits", "20/calendar_day"))
	return b
}

// pages returns the addresses of all pages.
func pages() []string {
	var found []string
	for _, q := range requests() {
		path, isGet := strings.CutPrefix(q.route, "GET ")
		if isGet && path != "/live" && path != "/user/forbidden" {
			found = append(found, strings.TrimSuffix(strings.TrimSuffix(path, "{$}")+"?"+q.query, "?"))
		}
	}
	return append(found, "/message?user=alice&id=m&content=yes", "/message?user=alice&id=none", "/policy?name=new&new=yes")
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := populated(t)
	answers := make(map[string]answer)
	for _, address := range pages() {
		answers[address] = b.get(address)
		answers[address+" as JSON"] = b.get(address, script())
		answers[address+" as CSV"] = b.get(strings.Replace(address+"?format=csv", "?", "?format=csv&", strings.Count(address, "?")))
	}
	for _, q := range requests() {
		if !strings.HasSuffix(q.route, "/live") && !strings.HasPrefix(q.route, "POST /policy/") {
			answers[q.route] = q.send(b)
		}
	}
	for name, got := range answers {
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"), name)
		require.Equal(t, "same-origin", got.header.Get("Referrer-Policy"), name)
		require.Empty(t, got.header.Get("Strict-Transport-Security"), name)
		if got.status != seeOther {
			require.Equal(t, "no-store", got.header.Get("Cache-Control"), name)
			require.NotEmpty(t, got.header.Get("Content-Type"), name)
		}
		csp := got.header.Get("Content-Security-Policy")
		require.Regexp(t, `^default-src 'none'; script-src 'self'; style-src 'self'; .*form-action 'self'; frame-ancestors 'none'$`, csp, name)
		require.NotContains(t, csp, "unsafe", name)
	}
	tls := b.overTLS()
	require.NotEmpty(t, tls.get("/").header.Get("Strict-Transport-Security"))
}

// The policy of contents allows nothing inline, so nothing inline works.
func TestPagesHaveNothingInline(t *testing.T) {
	t.Parallel()
	b := populated(t)
	confirmation := b.post("/message/cancel", "user", "alice", "id", "m")
	shown := map[string]page{"confirmation": confirmation.page(), "login": locked(t).browser().get("/login").page()}
	for _, address := range pages() {
		if got := b.get(address); got.status != seeOther {
			shown[address] = got.page()
		}
	}
	for name, p := range shown {
		ids := make(map[string]bool)
		for n := range p.root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			requireNothingInline(t, name, n)
			if id := attribute(n, "id"); id != "" {
				require.False(t, ids[id], "%s has %s twice", name, id)
				ids[id] = true
			}
		}
		for _, label := range p.all("label") {
			if has(label, "for") {
				require.True(t, ids[attribute(label, "for")], "%s has a label for no field: %s", name, attribute(label, "for"))
			}
		}
	}
}

func requireNothingInline(t testing.TB, name string, n *html.Node) {
	t.Helper()
	require.NotEqual(t, "style", n.Data, name)
	if n.Data == "script" && attribute(n, "type") != "application/json" {
		require.True(t, strings.HasPrefix(attribute(n, "src"), "/assets/"), name)
	}
	for _, a := range n.Attr {
		require.NotEqual(t, "style", a.Key, name)
		require.False(t, strings.HasPrefix(a.Key, "on"), "%s has %s", name, a.Key)
		if a.Key == "href" || a.Key == "src" || a.Key == "action" {
			require.True(t, strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") || strings.HasPrefix(a.Val, "#"), "%s leads to %s", name, a.Val)
		}
	}
}

// Every page refers to files that there are. Their addresses change with their content.
func TestAssets(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	kinds := map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
	for name, address := range b.pages.Assets() {
		got := b.get(address)
		require.Equal(t, ok, got.status, name)
		require.Equal(t, kinds[name[strings.LastIndex(name, ".")+1:]], got.header.Get("Content-Type"), name)
		require.Equal(t, "public, max-age=31536000, immutable", got.header.Get("Cache-Control"), name)
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"), name)
		require.Regexp(t, `^/assets/[0-9a-f]{12}/`, address)
		require.Empty(t, got.header.Get("Content-Encoding"))

		packed := b.get(address, http.Header{"Accept-Encoding": {"gzip"}})
		require.Contains(t, packed.header.Get("Vary"), "Accept-Encoding", name)
		if len(got.body) < 2000 {
			continue // it may be too small to be worth it
		}
		require.Equal(t, "gzip", packed.header.Get("Content-Encoding"), name)
		reader, err := gzip.NewReader(strings.NewReader(packed.body))
		require.NoError(t, err)
		unpacked, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.Equal(t, got.body, string(unpacked), name)
		require.Equal(t, notFound, b.get(strings.Replace(address, "/assets/", "/assets/0", 1)).status)
	}
	require.Len(t, b.pages.Assets(), 10)
	require.NotContains(t, b.pages.Assets(), "uPlot.LICENSE")
}

// What a page refers to is served without a login: the page to log in needs it too.
func TestPagesReferToFilesThatThereAre(t *testing.T) {
	t.Parallel()
	b := locked(t).browser()
	login := b.shows("/login")
	found := 0
	for _, name := range []string{"script", "link", "img"} {
		for _, n := range login.all(name) {
			require.Equal(t, ok, b.get(attribute(n, "src")+attribute(n, "href")).status)
			found++
		}
	}
	require.Equal(t, 4, found)
}
