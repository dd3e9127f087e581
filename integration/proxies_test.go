package integration_test

import (
	"bufio"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// Behind each proxy with the settings of the page the API and the dashboard work as without one.
func TestReverseProxies(t *testing.T) {
	t.Parallel()
	p := startProxied(t)
	for name, kind := range proxyKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := p.behind(t, name, kind.from)
			x.takesABatch(t, true)
			if !kind.half {
				x.takesABatch(t, false)
			}
			x.tellsEvents(t)
			x.servesTheDashboard(t)
			x.countsWrongKeys(t)
		})
	}
}

// takesABatch submits more than the 1 MB that nginx accepts by default.
// The client reads the answers meanwhile: it waits for them after 1,024 messages.
func (x *proxy) takesABatch(t *testing.T, http2 bool) {
	t.Helper()
	const lines = 4000
	with := x.client(t, http2)
	c, err := client.New(strings.TrimSuffix(x.url(""), "/"), client.Options{HTTPClient: with, Key: client.Key(x.key)})
	require.NoError(t, err)
	accepted := 0
	for result, err := range c.SubmitBatch(t.Context(), messagesTo(fmt.Sprintf("%s-%t", x.from, http2), lines)) {
		require.NoError(t, err, "%s", &x.output)
		require.NoError(t, result.Err)
		accepted++
	}
	require.Equal(t, lines, accepted)
}

// messagesTo are messages to users of their own.
func messagesTo(users string, n int) iter.Seq[client.Message] {
	return func(yield func(client.Message) bool) {
		for i := range n {
			m := client.Message{
				ID: fmt.Sprint("m-", i), User: fmt.Sprint(users, "-", i), SendAt: time.Now().Add(time.Hour), Title: "Hello", Body: strings.Repeat("x", 300),
			}
			if !yield(m) {
				return
			}
		}
	}
}

// tellsEvents follows the events while something happens.
func (x *proxy) tellsEvents(t *testing.T) {
	t.Helper()
	asked, own := x.client(t, true), map[string]string{"Authorization": "Bearer " + x.key, "Content-Type": "application/json"}
	followed := x.asks(t, asked, http.MethodGet, "v1/events", own, http.NoBody)
	require.Equal(t, http.StatusOK, followed.StatusCode)
	told := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(followed.Body); lines.Scan(); {
			if name, found := strings.CutPrefix(lines.Text(), "event: "); found {
				told <- name
				return
			}
		}
	}()
	n := 0
	require.Eventually(t, func() bool { // events are stored soon after somebody follows
		n++
		user := fmt.Sprint("told-", x.from, "-", n)
		accepted := x.asks(t, asked, http.MethodPost, "v1/messages", own,
			strings.NewReader(`{"user":"`+user+`","id":"m","send_at":"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`","title":"Hi"}`))
		require.Equal(t, http.StatusCreated, accepted.StatusCode)
		require.Equal(t, "/push/v1/users/"+user+"/messages/m", accepted.Header.Get("Location"))
		path := strings.TrimPrefix(accepted.Header.Get("Location"), "/push/")
		require.Equal(t, http.StatusOK, x.asks(t, asked, http.MethodDelete, path, own, http.NoBody).StatusCode)
		select {
		case name := <-told:
			require.Equal(t, "sendlimit.message.cancelled", name)
			return true
		default:
			return false
		}
	}, 20*time.Second, 200*time.Millisecond, "the proxy collects the answer")
}

// servesTheDashboard logs in and makes a change.
func (x *proxy) servesTheDashboard(t *testing.T) {
	t.Helper()
	asked := x.client(t, true)
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": "https://" + x.host()}
	first := x.asks(t, asked, http.MethodGet, "", nil, http.NoBody)
	require.Equal(t, http.StatusSeeOther, first.StatusCode)
	require.Equal(t, "/push/login", first.Header.Get("Location"))

	login := x.asks(t, asked, http.MethodPost, "login", form, strings.NewReader(url.Values{"key": {x.admin}}.Encode()))
	require.Equal(t, http.StatusSeeOther, login.StatusCode, "%s", text(t, login))
	require.Equal(t, "/push/", login.Header.Get("Location"))
	require.Len(t, login.Cookies(), 1)
	cookie := login.Cookies()[0]
	require.Equal(t, []any{"__Secure-sendlimit_session", "/push/", true}, []any{cookie.Name, cookie.Path, cookie.Secure})

	tier := "tier-" + fmt.Sprint(x.from.To4()[3])
	form["Cookie"] = cookie.Name + "=" + cookie.Value
	for origin, status := range map[string]int{"https://evil.example": http.StatusForbidden, form["Origin"]: http.StatusSeeOther} {
		change := maps.Clone(form)
		change["Origin"] = origin
		made := x.asks(t, asked, http.MethodPost, "tiers", change, strings.NewReader(url.Values{"tier": {tier}}.Encode()))
		require.Equal(t, status, made.StatusCode, "%s: %s", origin, text(t, made))
	}
	list := x.asks(t, asked, http.MethodGet, "v1/audit?object="+tier, map[string]string{"Authorization": "Bearer " + x.admin}, http.NoBody)
	require.Equal(t, http.StatusOK, list.StatusCode)
	log := text(t, list)
	require.Contains(t, log, `"address":"`+x.from.String()+`"`)
	require.Equal(t, 1, strings.Count(log, tier), "what another site asked for was not done: %s", log)
}

// countsWrongKeys has the client wait, and nobody else behind the proxy.
func (x *proxy) countsWrongKeys(t *testing.T) {
	t.Helper()
	tried := func(from net.IP) int {
		t.Helper()
		other := &proxy{proxied: x.proxied, address: x.address, from: from}
		return other.asks(t, other.client(t, true), http.MethodGet, "v1/stats", map[string]string{"Authorization": "Bearer sk_wrong"}, http.NoBody).StatusCode
	}
	require.Eventually(t, func() bool { return tried(x.from) == http.StatusTooManyRequests }, 30*time.Second, time.Millisecond)
	require.Equal(t, http.StatusUnauthorized, tried(net.IPv4(127, 0, 1, x.from.To4()[3])))
}
