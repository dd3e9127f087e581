package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
)

// Two accounts, each with a message to alice, and one of nobody.
func twoAccounts(t *testing.T) *rig {
	t.Helper()
	r := locked(t)
	r.submits("of-nobody", "+1h")
	for i, name := range []string{"own", "other"} {
		r.key(name, accounts.ScopeSubmit)
		r.acceptsOf(name, map[string]any{
			"user": "alice", "id": "of-" + name, "title": "Secret of " + name, "send_at": []string{"+2h", "+3h"}[i], "campaign": "spring-" + name,
		})
	}
	return r
}

func TestAnAccountSeesItsOwnMessages(t *testing.T) {
	t.Parallel()
	b := twoAccounts(t).sender("own")
	require.Contains(t, b.shows("/message?user=alice&id=of-own").plain(), "of-own")
	for _, id := range []string{"of-other", "of-nobody", "none"} {
		got := b.get("/message?user=alice&id=" + id + "&content=yes")
		require.Equal(t, notFound, got.status, id)
		require.NotContains(t, got.body, "Secret", id)
		require.Equal(t, notFound, b.get("/user/forbidden?name=alice&id="+id, script()).status, id)
		require.Equal(t, notFound, b.postScript("/message/move", "user", "alice", "id", id, "send_at", "2026-11-22T10:00:00Z").status, id)
		require.Equal(t, notFound, b.postScript("/message/cancel", "user", "alice", "id", id, "confirmed", "yes").status, id)
	}
	for _, list := range []string{
		"/messages", "/messages?user=alice", "/messages?format=csv", "/messages?id=of-other", "/messages?campaign=spring-other",
		"/messages?account=other", "/user?name=alice", "/", "/campaign?name=spring-other", "/campaign?name=spring-other&account=other",
	} {
		got := b.get(list)
		if strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
			got.body = got.page().plain() // without what was asked for
		}
		require.NotContains(t, got.body, "of-other", list)
		require.NotContains(t, got.body, "of-nobody", list)
	}
	require.Contains(t, b.shows("/user?name=alice").plain(), "the rule 1/minute: 2026-11-21 12:59", "their times are taken")
	require.Contains(t, b.shows("/campaign?name=spring-other").plain(), "No messages of this campaign.")
	require.Contains(t, b.shows("/campaign?name=spring-own").plain(), "scheduled")
}

// What a key may not do is no entry of the audit log.
func TestWhatIsForbiddenIsNotLogged(t *testing.T) {
	t.Parallel()
	r := twoAccounts(t)
	require.Equal(t, forbidden, r.writer("own").get("/message?user=alice&id=of-own&content=yes").status)
	require.Empty(t, r.entries())
}

// An account sees what operators did with what it owns, and not which operator.
func TestAnAccountIsToldWhatOperatorsDid(t *testing.T) {
	t.Parallel()
	r := twoAccounts(t)
	_, err := r.audit.Begin(t.Context(), audit.Entry{Account: "ops", Key: "opskey12", Action: "set callback", Owner: "own", Detail: "to evil.example", Operator: true})
	require.NoError(t, err)
	shown := r.sender("own").shows("/audit").plain()
	require.Contains(t, shown, "an operator")
	require.Contains(t, shown, "to evil.example")
	require.NotContains(t, shown, "opskey12")
	require.NotContains(t, r.sender("other").shows("/audit").plain(), "evil.example")
}

func TestAnAccountCantChangeWhatOthersHave(t *testing.T) {
	t.Parallel()
	r := twoAccounts(t)
	b := r.sender("own")
	require.Eventually(t, func() bool {
		dump := r.store.Dump()
		return !strings.Contains(dump, ":holds")
	}, time.Minute, time.Millisecond, "charges are settled after the answer")
	before := r.store.Dump()
	for _, q := range requests() {
		if q.statuses.account != forbidden || strings.HasPrefix(q.route, "GET ") {
			continue
		}
		require.Equal(t, forbidden, q.send(b, script()).status, q.route)
	}
	for _, e := range r.entries() {
		require.Equal(t, "refused", e.Outcome, e.Action)
		require.Equal(t, "own", e.Account)
	}
	for _, change := range []string{"pause", "cancel"} {
		got := b.postScript("/campaign", "name", "spring-other", "account", "other", "do", change, "confirmed", "yes")
		require.GreaterOrEqual(t, got.status, http.StatusBadRequest, got.body)
	}
	require.Equal(t, apitest.WithoutLog(before), apitest.WithoutLog(r.store.Dump()))
	b.passes(0)
	require.Contains(t, r.operator().shows("/message?user=alice&id=of-other").plain(), "scheduled")
}

// Without the scope content, an operator does not see the content of an account's messages.
func TestContentIsForWhoMaySeeIt(t *testing.T) {
	t.Parallel()
	r := twoAccounts(t)
	shown := "/message?user=alice&id=of-own"
	for name, row := range map[string]struct {
		b    *browser
		sees bool
	}{
		"the account":                {r.sender("own"), true},
		"an operator":                {r.operator(), false},
		"an operator who may see it": {r.loggedIn(r.key("ops", accounts.ScopeAdmin, accounts.ScopeContent)), true},
	} {
		hidden := row.b.shows(shown)
		require.NotContains(t, hidden.text, "Secret of own", name)
		got := row.b.shows(hidden.link("Show the content"))
		require.Equal(t, row.sees, strings.Contains(got.text, "Secret of own"), name)
	}
	require.Len(t, r.entries(), 3)
	for _, e := range r.entries() {
		require.Equal(t, "show content alice of-own done", strings.Join([]string{e.Action, e.User, e.Message, e.Outcome}, " "))
	}
}

// The pages of an account, and what they call it.
func TestAnAccountSeesItself(t *testing.T) {
	t.Parallel()
	b := twoAccounts(t).sender("own")
	for _, target := range []string{"/account", "/account?name=own", "/account?name=other"} {
		shown := b.shows(target)
		require.Equal(t, "Account own", textOf(shown.all("h1")[0]), target)
		require.Empty(t, shown.find("form", "action", "/account/key"), target)
	}

	b.done(b.post("/user/device", "name", "alice", "device", "mine", "channel", "fcm", "token", "secret"))
	other := b.sender("other")
	other.done(other.post("/user/device", "name", "alice", "device", "theirs", "channel", "fcm", "token", "secret"))
	for _, target := range []string{"/audit", "/audit?account=other", "/audit?format=csv&account=other"} {
		log := b.get(target).body
		require.Contains(t, log, "mine", target)
		require.NotContains(t, log, "theirs", target)
	}
	require.Contains(t, b.operator().get("/audit").body, "theirs")
}
