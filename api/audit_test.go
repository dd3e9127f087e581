package api_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// logged returns the audit log, the newest first.
func (r *rig) logged() []audit.Entry {
	r.Helper()
	list, _, err := r.options.Audit.Page(r.Context(), audit.Filter{}, "", audit.MaxPage)
	require.NoError(r, err)
	return list
}

// byHand sends a request of a Hand, which needs no key.
func (r *rig) byHand(who api.Hand, q request) reply {
	r.Helper()
	process := api.NewInProcess(r.handler, who)
	sent, err := http.NewRequestWithContext(r.Context(), q.method, "http://127.0.0.1"+q.target, strings.NewReader(q.body))
	require.NoError(r, err)
	sent.Header.Set("Content-Type", "application/json")
	for name := range q.header {
		sent.Header.Set(name, q.header.Get(name))
	}
	got, err := process.RoundTrip(sent)
	require.NoError(r, err)
	defer func() { require.NoError(r, got.Body.Close()) }()
	body, err := io.ReadAll(got.Body)
	require.NoError(r, err)
	return reply{status: got.StatusCode, header: got.Header, body: body}
}

// looks reports whether an operation changes nothing.
func (o operation) looks() bool {
	return o.method == http.MethodGet && o.path != contentPath || strings.HasSuffix(o.path, "/dry-run")
}

// Each change of an operator or a Hand leaves one entry, whatever its outcome. Accounts' changes of
// their keys leave none.
func TestEveryChangeOfAnOperatorIsLogged(t *testing.T) {
	t.Parallel()
	for _, o := range operations() {
		t.Run(o.method+" "+o.path, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, locked)
			acme(r)
			operator, own := r.key("op", accounts.ScopeAdmin, accounts.ScopeContent), r.key("acme", accounts.ScopeSubmit, accounts.ScopeRead)
			r.with(own, o.request())
			require.Empty(t, r.logged(), "an account's, or refused")

			got := r.with(operator, o.request())
			if o.looks() || scopeOf(o) != accounts.ScopeAdmin && o.path != contentPath {
				require.Empty(t, r.logged())
			} else {
				e := r.ended(1, got)
				require.Equal(t, []string{"op", operator[3:11], "", "127.0.0.1"}, []string{e.Account, e.Key, e.By, e.Address})
			}
			before := len(r.logged())
			got = r.byHand(api.Hand{Operator: true}, o.request())
			if o.looks() {
				require.Len(t, r.logged(), before)
				return
			}
			r.ended(before+1, got)
			got = r.byHand(api.Hand{Operator: true, By: "root"}, o.request())
			if slices.Contains([]string{
				"POST " + messagesPath, "POST " + batchPath, "PATCH " + messagePath, "PUT " + messagePath, "DELETE " + messagePath,
			}, o.method+" "+o.path) {
				require.Len(t, r.logged(), before+1, "its history tells it")
				return
			}
			e := r.ended(before+2, got)
			require.Equal(t, []string{"", "", "root", ""}, []string{e.Account, e.Key, e.By, e.Address})
		})
	}
}

// A dry run changes nothing, so it leaves no entry.
func TestADryRunLeavesNoEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for method, asked := range map[string]request{
		"settings": {method: http.MethodPut, target: "/v1/users/alice/settings", body: `{"blocked":true,"dry_run":true}`},
		"campaign": {method: http.MethodPost, target: springPath + "/move", body: `{"by":"1h","dry_run":true}`},
	} {
		got := r.byHand(api.Hand{Operator: true}, asked)
		require.Less(t, got.status, http.StatusInternalServerError, method)
		require.Empty(t, r.logged(), method)
	}
	r.byHand(api.Hand{Operator: true}, request{method: http.MethodPut, target: "/v1/users/alice/settings", body: `{"blocked":true,"dry_run":false}`})
	require.Len(t, r.logged(), 1)
}

// No change goes unlogged because its body says that it is a dry run: an operation without dry runs
// refuses such a body, and so does each a body that says both.
func TestAChangeIsNoDryRunByItsBody(t *testing.T) {
	t.Parallel()
	for _, o := range operations() {
		body := o.request().body
		if !strings.HasPrefix(body, "{") || strings.Contains(body, "\n{") || o.looks() {
			continue
		}
		t.Run(o.method+" "+o.path, func(t *testing.T) {
			t.Parallel()
			for _, members := range []string{`"dry_run":true`, `"dry_run":false,"dry_run":true`, `"dry_run":true,"Dry_Run":false`} {
				r := newRig(t)
				acme(r)
				q := o.request()
				q.body = "{" + members + strings.Replace(","+strings.TrimPrefix(body, "{"), ",}", "}", 1)
				before := r.store.Dump()
				got := r.byHand(api.Hand{Operator: true}, q)
				if got.status < http.StatusMultipleChoices && len(r.logged()) == 0 {
					require.Equal(t, before, r.store.Dump(), "%s is answered %d", q.body, got.status)
				}
			}
		})
	}
}

// A command that makes many changes leaves one entry for those that are not only for operators.
func TestACommandOfManyChangesIsOneEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	transport := api.NewInProcess(r.handler, api.Hand{Operator: true, By: "root"})
	for n := range 3 {
		body := fmt.Sprintf(`{"id":"phone%d","channel":"fcm","app":"shop","token":"canary-canary-canary-canary-canary-%d"}`, n, n)
		asked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+aliceDevices, strings.NewReader(body))
		require.NoError(t, err)
		asked.Header.Set("Content-Type", "application/json")
		answer, err := transport.RoundTrip(asked)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Less(t, answer.StatusCode, http.StatusMultipleChoices)
	}
	require.Len(t, r.logged(), 1)
}

// ended requires that the log has this many entries, and that the last one has the outcome of got.
func (r *rig) ended(entries int, got reply) audit.Entry {
	r.Helper()
	all := r.logged()
	require.Len(r, all, entries)
	e := all[0]
	require.NotZero(r, e.EndedAt, e.Action)
	if got.status < http.StatusMultipleChoices {
		require.Equal(r, []string{audit.Done, "", ""}, []string{e.Outcome, e.Code, e.Answer}, e.Action)
		return e
	}
	p := into[api.Problem](r, got.status, got)
	require.Equal(r, []string{audit.Refused, string(p.Code)}, []string{e.Outcome, e.Code}, e.Action)
	return e
}

// An entry has no secret, no contact and no content, also where they are refused.
func TestTheAuditLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	acme(r)
	const wrong = "\\u0007canary" // no contact, no token and no address
	send := func(method, target, body string) {
		for _, canary := range []string{"canary", wrong} {
			r.byHand(api.Hand{Operator: true}, request{method: method, target: target, body: strings.ReplaceAll(body, "@@", canary)})
		}
	}
	send(http.MethodPost, "/v1/accounts", `{"name":"new","contact":"@@@example.com"}`)
	send(http.MethodPatch, "/v1/accounts/acme", `{"contact":"https://example.com/@@"}`)
	send(http.MethodPut, acmeCallback, `{"url":"https://example.com/@@"}`)
	send(http.MethodPut, readLimits, `{"per_day":5,"alert_at":[80],"alert_to":"@@@example.com"}`)
	send(http.MethodPut, aliceSettings, `{"contact":"@@@example.com"}`)
	send(http.MethodPost, aliceDevices, `{"id":"phone","channel":"fcm","app":"shop","token":"@@"}`)
	send(http.MethodPost, messagesPath, `{"user":"alice","send_at":"now","title":"@@","body":"@@","data":{"@@":"@@"},"metadata":{"@@":"@@"}}`)
	send(http.MethodPost, "/v1/accounts/acme/keys", `{"scopes":["read"]}`)
	stored, err := r.client.HGetAll(t.Context(), "sl:{audit}:entries").Result()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(stored), 2*16, "entries and ends")
	for _, text := range stored {
		require.NotContains(t, text, "canary")
		require.NotContains(t, text, "sk_")
	}
}

// The entry about an erasure does not name the user.
func TestAnErasureNamesNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Equal(t, http.StatusOK, r.send(request{method: http.MethodDelete, target: "/v1/users/erased-one?wait=0s"}).status)
	r.problem(http.StatusUnprocessableEntity, r.send(request{method: http.MethodDelete, target: "/v1/users/erased-one%00"}))
	all := r.logged()
	require.Len(t, all, 2)
	for _, e := range all {
		require.Equal(t, "erase user", e.Action)
		require.NotContains(t, strings.Join([]string{e.User, e.Object, e.Detail, e.Answer}, " "), "erased-one")
	}
}

// The log describes changes in words.
func TestWhatTheAuditLogSays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	acme(r)
	booked(r)
	for _, row := range []struct{ q, said string }{
		{`PUT /v1/tiers/gold {"messages_per_day":500,"devices":0,"alert_at":[]}`, "set tier; gold; messages per day 500"},
		{`POST /v1/accounts {"name":"new","tier":"free","contact":"ops@example.com"}`, "create account; new; tier free; with contact"},
		{`PATCH /v1/accounts/acme {"tier":"","contact":null,"disabled":false}`, "change account; acme; no tier; not disabled; no contact"},
		{`DELETE /v1/accounts/acme/keys/Zx3kQ9aB`, "remove account key; acme; key Zx3kQ9aB"},
		{`PUT /v1/accounts/acme/callback {"url":"https://example.com/events"}`, "set callback; acme; to example.com"},
		{`PATCH /v1/users/alice/settings {"blocked":true,"categories":{"news":["1/day"]}}`, "change user settings; alice; categories news 1/day; blocked"},
		{`PATCH /v1/users/alice/messages/a {"send_at":"now","title":"new"}`, "move message; alice; a; send at now"},
		{`POST /v1/users/alice/devices {"id":"phone","channel":"fcm","token":"t"}`, "add device; alice; phone; channel fcm"},
		{`POST /v1/dead-letters/retry?user=alice&limit=5`, "retry dead letters; alice; limit 5"},
		{`PUT /v1/pace?channel=fcm {"rate":"5/second"}`, "set pace; channel fcm; rate 5/second"},
		{`POST /v1/sending/stop {"reason":"wrong text"}`, "stop sending; reason wrong text"},
		{`POST /v1/sending/start`, "start sending"},
		{`POST /v1/channels/fcm/resume`, "resume channel; fcm"},
		{`POST /v1/campaigns/spring/pause?account=acme`, "pause campaign; spring; account acme"},
	} {
		parts := append(strings.SplitN(row.q, " ", 3), "")
		r.byHand(api.Hand{Operator: true}, request{method: parts[0], target: parts[1], body: parts[2]})
		e := r.logged()[0]
		said := slices.DeleteFunc([]string{e.Action, e.User, e.Message, e.Object, e.Detail}, func(part string) bool { return part == "" })
		require.Equal(t, row.said, strings.Join(said, "; "))
	}
}

// changed has operators change something, and acme's person on the dashboard too.
func changed(r *rig) {
	acme(r)
	for _, q := range []request{
		{method: http.MethodPut, target: "/v1/tiers/gold", body: `{}`},
		{method: http.MethodPut, target: acmeCallback, body: `{"url":"https://example.com/events"}`},
		{method: http.MethodPut, target: aliceSettings, body: `{"blocked":true}`},
		{method: http.MethodDelete, target: "/v1/tiers/none"},
	} {
		r.send(q)
	}
	who := accounts.Identity{Account: accounts.Account{Name: "acme"}, Key: accounts.APIKey{ID: "00000000", Scopes: []accounts.Scope{accounts.ScopeSubmit}}}
	r.byHand(api.Hand{Identity: who}, request{method: http.MethodDelete, target: aliceA})
}

// The log is filtered and paged. An account sees its own entries, and operators' changes to its
// data without their names.
func TestTheAuditLogIsListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	changed(r)
	list := func(query string) (actions []string) {
		for _, e := range pagesOf(r, auditPath+"?limit=1"+query, func(p message.AuditEntries) ([]message.AuditEntry, string) { return p.Entries, p.NextCursor }) {
			actions = append(actions, e.Action)
		}
		return actions
	}
	require.Equal(t, []string{"cancel message", "remove tier", "set user settings", "set callback", "set tier"}, list(""))
	for query, want := range map[string][]string{
		"&account=acme": {"cancel message", "set callback"}, "&user=alice": {"cancel message", "set user settings"}, "&action=set+tier": {"set tier"},
		"&object=none": {"remove tier"}, "&until=2026-11-21T10:00:00Z": nil, "&from=2026-11-21T10:00:00Z&object=gold": {"set tier"},
	} {
		require.Equal(t, want, list(query), query)
	}
	for _, wrong := range []string{"account=", "user=" + strings.Repeat("x", audit.MaxName+1), "from=soon", "limit=501", "cursor=x"} {
		require.Equal(t, strings.Split(wrong, "=")[0], r.problem(http.StatusUnprocessableEntity, r.get(auditPath+"?"+wrong)).Field, wrong)
	}
	own := into[message.AuditEntries](t, http.StatusOK, r.with(r.key("acme", accounts.ScopeRead), request{method: http.MethodGet, target: auditPath + "?account=op"})).Entries
	require.Len(t, own, 2)
	require.Equal(t, []string{"acme", "00000000", "cancel message"}, []string{own[0].Account, own[0].Key, own[0].Action})
	require.Equal(t, []string{"", "", "", "set callback", "to example.com"}, []string{own[1].Account, own[1].Key, own[1].Address, own[1].Action, own[1].Detail})
	require.True(t, own[1].Operator)
	require.False(t, own[0].Operator)
}

// session begins a session of the dashboard, and returns its id.
func (r *rig) session() string {
	r.Helper()
	_, err := r.options.Sessions.Begin(r.Context(), r.key("op", accounts.ScopeAdmin), "192.0.2.1", time.Now())
	require.NoError(r, err)
	all := into[message.Sessions](r, http.StatusOK, r.get(sessionsPath)).Sessions
	require.Len(r, all, 1)
	require.Equal(r, []string{"op", "192.0.2.1"}, []string{all[0].Account, all[0].Address})
	return all[0].ID
}

func TestSessionsAreEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	end := request{method: http.MethodDelete, target: sessionsPath + "/" + r.session()}
	require.Equal(t, message.SessionEnded, into[message.SessionEnd](t, http.StatusOK, r.send(end)).Outcome)
	require.Empty(t, into[message.Sessions](t, http.StatusOK, r.get(sessionsPath)).Sessions)
	require.Equal(t, fault.CodeNotFound, r.problem(http.StatusNotFound, r.send(end)).Code)
}

func auditCases() []contractCase {
	get := func(target string) request { return request{method: http.MethodGet, target: target} }
	end := func(t *testing.T) reply {
		t.Helper()
		r := newRig(t)
		return r.send(request{method: http.MethodDelete, target: sessionsPath + "/" + r.session()})
	}
	return []contractCase{
		{"none", http.MethodGet, auditPath, http.StatusOK, on(nothing, get(auditPath))},
		{"a page", http.MethodGet, auditPath, http.StatusOK, on(changed, get(auditPath+"?limit=4"))},
		{"an account's", http.MethodGet, auditPath, http.StatusOK, withKey(changed, "acme", get(auditPath), accounts.ScopeRead)},
		{"all", http.MethodGet, sessionsPath, http.StatusOK, on(func(r *rig) { r.session() }, get(sessionsPath))},
		{"ended", http.MethodDelete, sessionPath, http.StatusOK, end},
		{"none", http.MethodDelete, sessionPath, http.StatusNotFound, on(nothing, request{method: http.MethodDelete, target: sessionsPath + "/3fa91c02b7d86e54"})},
	}
}
