package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/dashboard"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// Below a path of a proxy every link, form, file, redirect and cookie has the path.
func TestAllLinksAreBelowTheBasePath(t *testing.T) {
	t.Parallel()
	const base = "/push"
	r := newRig(t, true, func(o *dashboard.Options) { o.BasePath = base })
	b := r.overTLS()
	got := b.post("/login", "key", r.key("ops", accounts.ScopeAdmin))
	require.Equal(t, base+"/", got.to())
	session := sessionCookie(t, got)
	require.Equal(t, "__Secure-sendlimit_session", session.Name, "__Host- would require the path /")
	require.Equal(t, base+"/", session.Path)
	require.True(t, session.Secure)

	r.submits("m", "+1h")
	require.Contains(t, b.shows("/").text, `data-base="`+base+`"`, "scripts add it")
	leads := regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	links := 0
	for _, q := range requests() {
		if q.statuses.operator == 0 {
			continue // the live updates do not end
		}
		got := q.send(b)
		for _, link := range leads.FindAllStringSubmatch(got.body, -1) {
			links++
			require.True(t, strings.HasPrefix(link[1], base+"/") || strings.HasPrefix(link[1], "#"), "%s on %s", link[1], q.route)
		}
		if got.status == seeOther {
			require.True(t, strings.HasPrefix(got.to(), base+"/"), "%s leads to %s", q.route, got.to())
		}
		for _, c := range got.set {
			require.Equal(t, base+"/", c.Path, q.route)
		}
	}
	require.Greater(t, links, 400)
	require.Equal(t, base+"/login?to=%2Fusers", b.get("/users").to(), "it has logged out")
	b = r.browser()
	b.post("/login", "key", r.key("ops", accounts.ScopeAdmin))
	require.Equal(t, base+"/tiers", b.postScript("/tiers", "tier", "gold").json(http.StatusOK)["to"], "a script goes there")
}
