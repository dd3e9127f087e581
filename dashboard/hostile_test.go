package dashboard_test

import (
	"encoding/csv"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/sendlimit/sendlimiter/dashboard"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// hostileNames are names of users that break pages which are careless.
func hostileNames() []string {
	return []string{
		`"><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`, `{{.Who.Key}}`, `</title></textarea>`,
		"🙂", "..", ".", "/", "//evil.example", `\`, "a/b?c#d", "%2F", "%", "+", "a+b", "a b", "a&name=b",
		"=1+1", "-1", "@cmd", "null", "true", "*", strings.Repeat("ä", 128),
	}
}

// hostileIDs are ids of messages; fewer characters are allowed in them.
func hostileIDs() []string {
	return []string{"..", ".", "a:b:c", ":", "-1", "--", "_", "1e9", strings.Repeat("x", 128), "retry", "dry-run"}
}

// withoutScripts requires that a page has no elements but its own.
func (p page) withoutScripts(name string) page {
	p.Helper()
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		require.NotContains(p, []string{"img", "iframe", "base", "object", "style"}, n.Data, name)
		requireNothingInline(p, name, n)
	}
	return p
}

// Whatever a user is called, the links of every list lead back to that user and message.
func TestUsersWithHostileNames(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := keyless(t).browser()
	for _, user := range hostileNames() {
		b.accepts(map[string]any{"user": user, "id": "m", "title": "Hi", "send_at": "+1h"})
		b.done(b.post("/user/settings", "name", user, "limits", "20/calendar_day"))
	}
	leads := func(list, name string) {
		t.Helper()
		found := make(map[string]int)
		shown := b.shows(list).withoutScripts(list)
		for _, a := range shown.all("a") {
			to, err := url.Parse(attribute(a, "href"))
			require.NoError(t, err)
			if user := to.Query().Get(name); user != "" && (to.Path == "/user" || to.Path == "/message") {
				found[user]++
			}
		}
		for _, user := range hostileNames() {
			require.Positive(t, found[user], "%s has no %q", list, user)
		}
	}
	leads("/messages", "user")
	leads("/users", "name")
	leads("/audit", "name")

	for _, user := range hostileNames() {
		address := "/user?" + url.Values{"name": {user}}.Encode()
		shown := b.shows(address).withoutScripts(user)
		require.Equal(t, "User "+user, strings.TrimSuffix(rawText(shown.all("h1")[0]), "\n"), user)
		require.Equal(t, user, shown.fields("/user/erase").Get("name"))
		require.Equal(t, user, shown.fields("/user/submit").Get("name"))
		require.Equal(t, "User "+dashboard.Clip(user, 80)+" · Sendlimit", rawText(shown.all("title")[0]))
		require.Equal(t, user, attribute(shown.find("svg", "id", "svg")[0], "data-user"))
		back := shown.fields("/user/settings").Get("back")
		require.Equal(t, "User "+user, rawText(b.shows(back).all("h1")[0]), "the way back from a form")
		require.Equal(t, "User "+user, rawText(b.shows(shown.link("Later →")).all("h1")[0]))

		message := b.shows(shown.link("m")).withoutScripts(user)
		require.Contains(t, rawText(message.root), "To "+user, user)
		fields := message.fields("/message/move")
		fields.Set("send_at", "2026-11-22T11:11:11")
		require.Contains(t, b.done(b.send("/message/move", fields)), "Moved", user)
		require.Equal(t, user, b.about("move message")[0].User)
		question, got := b.confirmed("/message/cancel", "user", user, "id", "m")
		require.Contains(t, question, strings.Join(strings.Fields(user), " "))
		require.Equal(t, "The message was cancelled.", b.done(got))
	}
}

func TestIDsWithHostileNames(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := keyless(t).browser()
	for i, id := range hostileIDs() {
		b.accepts(map[string]any{"user": "alice", "id": id, "title": "Hi", "send_at": "+" + string(rune('1'+i/4)) + "h", "on_conflict": "shift"})
		b.done(b.post("/user/settings", "name", "alice", "limits", "100/calendar_day\n100/hour"))
	}
	for _, list := range []string{"/messages", "/user?name=alice"} {
		shown := b.shows(list)
		for _, id := range hostileIDs() {
			message := b.shows(shown.link(id)).withoutScripts(id)
			require.Equal(t, "Message "+id, rawText(message.all("h1")[0]))
			require.Equal(t, id, message.fields("/message/cancel").Get("id"))
		}
	}
	for _, id := range hostileIDs() {
		require.Len(t, b.shows("/messages?id="+url.QueryEscape(id)).links(id), 1, id)
		_, got := b.confirmed("/message/cancel", "user", "alice", "id", id)
		b.done(got)
	}
}

// What a message says is text, to those who may see it.
func TestHostileContent(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	const markup = `"><script>alert(1)</script>`
	long := strings.Repeat("<b>", 600) + "\u202e"
	for id, draft := range map[string]map[string]any{
		"texts": {"title": markup, "body": "\u202e<b>" + markup, "data": map[string]string{markup: markup}, "metadata": map[string]string{"k": markup}},
		"long":  {"title": long[:900], "body": long},
	} {
		draft["user"], draft["id"], draft["send_at"], draft["on_conflict"] = "alice", id, "+1h", "shift"
		b.accepts(draft)
		shown := b.shows("/message?user=alice&id=" + id + "&content=yes").withoutScripts(id)
		require.Contains(t, rawText(shown.root), draft["title"])
		require.Contains(t, rawText(shown.root), draft["body"])
	}
	got := b.post("/user/submit", "name", "alice", "title", strings.Repeat("x", 10_000), "send_at", "2026-11-23T10:00:00")
	require.Contains(t, b.refused(got), "are 10000 bytes together")
}

// What a worker, a channel or an account says is text too.
func TestHostileReasons(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	const markup = `"><script>alert(1)</script>`
	b.failsFor("al<i>ce", "m", markup)
	alert := b.failsToAlert("al<i>ce" + markup)
	b.done(b.post("/accounts", "account", "own", "contact", "https://example.com/?x=<script>"))
	for _, address := range []string{"/dead-letters", "/message?user=al%3Ci%3Ece&id=m", "/alerts", "/accounts", "/account?name=own", "/", "/audit", "/messages"} {
		b.shows(address).withoutScripts(address)
	}
	require.Contains(t, b.shows("/dead-letters").plain(), markup)
	require.Contains(t, b.shows("/alerts").plain(), "al<i>ce"+markup)
	require.Equal(t, alert, b.shows("/alerts").fields("/alerts").Get("alert"))
	require.Contains(t, b.shows("/accounts").plain(), "https://example.com/?x=<script>")

	letters := b.shows("/dead-letters")
	require.Equal(t, "al%3Ci%3Ece m", attribute(letters.find("input", "name", "chosen")[0], "value"))
	question, got := b.confirmed("/dead-letters", "chosen", "al%3Ci%3Ece m", "do", "purge")
	require.Contains(t, question, "Remove 1 dead letter?")
	require.Equal(t, "1 dead letter removed.", b.done(got))
	_, got = b.confirmed("/alerts", "alert", alert, "do", "purge")
	require.Equal(t, "The alert was removed.", b.done(got))
}

// Everything in an address may be anything.
func TestHostileAddresses(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := populated(t)
	values := append(hostileNames(), "", "\x00", "\xff", strings.Repeat("x", 20_000), "\r\nX-Evil: 1", "2026-13-45", "9999999999999999999")
	next := 0
	for _, q := range requests() {
		path, isGet := strings.CutPrefix(strings.TrimSuffix(q.route, "{$}"), "GET ")
		if !isGet || path == "/live" {
			continue
		}
		for _, name := range []string{"name", "user", "id", "at", "zone", "cursor", "category", "rule", "span", "from", "status", "weeks", "account", "to", "campaign"} {
			for range 3 { // all of them would take a minute
				value := values[next%len(values)]
				next++
				query, err := url.ParseQuery(q.query)
				require.NoError(t, err)
				query.Set(name, value)
				got := b.get(path + "?" + query.Encode())
				require.Less(t, got.status, 500, "%s with %s=%q", path, name, clipped(value))
				require.Empty(t, got.header.Get("X-Evil"))
				if strings.HasPrefix(got.header.Get("Content-Type"), "text/html") && got.status != seeOther {
					got.page().withoutScripts(path)
				}
			}
		}
	}
	require.NotContains(t, b.log.String(), "level=ERROR")
}

func clipped(text string) string { return text[:min(len(text), 40)] }

// A spreadsheet takes what begins so for a formula.
func TestDownloadsHaveNoFormulas(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	users := []string{"=1+1", "+1", "-1", "@cmd", "plain, \"quoted\""}
	for _, user := range users {
		b.accepts(map[string]any{"user": user, "id": "-1", "title": "Hi", "send_at": "+1h"})
		b.done(b.post("/user/settings", "name", user, "contact", "a@example.com"))
	}
	for _, list := range []string{"messages", "users", "audit"} {
		got := b.get("/" + list + "?format=csv&status=&blocked=false&name=")
		require.Equal(t, ok, got.status, got.body)
		require.Equal(t, `attachment; filename="`+list+`.csv"`, got.header.Get("Content-Disposition"))
		require.Equal(t, "text/csv; charset=utf-8; header=present", got.header.Get("Content-Type"))
		rows, err := csv.NewReader(strings.NewReader(got.body)).ReadAll()
		require.NoError(t, err)
		require.Greater(t, len(rows), len(users))
		var cells []string
		for _, row := range rows {
			cells = append(cells, row...)
		}
		for _, cell := range cells {
			require.False(t, cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r"), "%s has %q", list, cell)
		}
		for _, user := range users {
			require.True(t, slices.Contains(cells, user) || slices.Contains(cells, "'"+user), "%s lacks %q", list, user)
		}
	}
}
