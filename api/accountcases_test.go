package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// use has a request sent with a key.
func (q *request) use(key string) {
	if q.header == nil {
		q.header = make(http.Header)
	}
	q.header.Set("Authorization", "Bearer "+key)
}

// key returns a new key of an account, which is made where it is not there yet.
func (r *rig) key(account string, scopes ...accounts.Scope) string {
	r.Helper()
	_, there, err := r.accounts.Get(r.Context(), account)
	require.NoError(r, err)
	if !there {
		_, err = r.accounts.Create(r.Context(), accounts.Account{Name: account})
		require.NoError(r, err)
	}
	secret, _, err := r.accounts.AddKey(r.Context(), account, scopes, time.Time{}, nil)
	require.NoError(r, err)
	return secret
}

// with sends a request with a key.
func (r *rig) with(key string, q request) reply {
	r.Helper()
	q.header = q.header.Clone()
	q.use(key)
	return r.send(q)
}

// scopeOf says which scope an operation is documented to want: the table that
// the product is held against.
func scopeOf(o operation) accounts.Scope {
	name := o.method + " " + o.path
	switch {
	case slices.Contains([]string{
		"POST " + messagesPath, "POST " + messagesPath + "/dry-run", "POST " + batchPath, "POST " + checkBatchPath, "PATCH " + messagePath, "PUT " + messagePath, "DELETE " + messagePath,
		"POST " + deadEventsPath + "/retry", "DELETE " + deadEventsPath,
		"POST " + campaignPath + "/pause", "POST " + campaignPath + "/resume", "POST " + campaignPath + "/cancel", "POST " + campaignPath + "/reopen", "POST " + campaignPath + "/move",
		"POST " + devicesPath, "DELETE " + devicesPath + "/{device}",
	}, name):
		return accounts.ScopeSubmit
	case slices.Contains([]string{
		"GET " + messagesPath, "GET " + foundPath, "GET " + messagePath, "GET " + contentPath, "GET /v1/users/{user}/messages", "GET /v1/users/{user}/usage", "GET /v1/users/{user}/next-free", "GET /v1/usage",
		"GET /v1/events", "GET " + deadEventsPath, "GET " + campaignPath, "GET " + devicesPath, "GET " + auditPath,
	}, name):
		return accounts.ScopeRead
	case o.path == recordSentPath, strings.HasPrefix(o.path, deadAlertsPath), o.path == deadLettersPath, o.path == deadLettersPath+"/retry", strings.HasPrefix(o.path, deadLetterPath), o.path == "/v1/stats", o.path == "/v1/overview", o.path == "/v1/forecast",
		strings.HasPrefix(o.path, "/v1/policies"), o.path == settingsPath, o.path == "/v1/users", strings.HasPrefix(o.path, "/v1/accounts"), strings.HasPrefix(o.path, "/v1/tiers"):
		return accounts.ScopeAdmin
	case o.path == userPath, o.path == exportPath, o.path == pacePath, strings.HasPrefix(o.path, sendingPath), strings.HasPrefix(o.path, "/v1/event-limits"), strings.HasPrefix(o.path, sessionsPath), strings.HasPrefix(o.path, channelsPath):
		return accounts.ScopeAdmin
	}
	return "" // a new operation, of which nobody has said who may do it
}

// lacking returns the scopes submit and read without the given one.
func lacking(scope accounts.Scope) []accounts.Scope {
	both := []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}
	return slices.DeleteFunc(both, func(s accounts.Scope) bool { return s == scope })
}

// acme has an account, and a tier that it is not in.
func acme(r *rig) {
	r.key("acme", accounts.ScopeRead)
	require.NoError(r, r.accounts.SetTier(r.Context(), accounts.Tier{Name: "free", MessagesPerDay: 500, AlertAt: []int{50}}))
}

// inFree has an account in a tier.
func inFree(r *rig) {
	acme(r)
	free := "free"
	_, err := r.accounts.Set(r.Context(), "acme", accounts.Change{Tier: &free})
	require.NoError(r, err)
}

func accountCases() []contractCase {
	get := func(target string) request { return request{method: http.MethodGet, target: target} }
	with := func(method, target, body string) request { return request{method: method, target: target, body: body} }
	const acmePath, freePath = "/v1/accounts/acme", "/v1/tiers/free"
	return []contractCase{
		{"all", http.MethodGet, "/v1/accounts", http.StatusOK, on(acme, get("/v1/accounts"))},
		{"made", http.MethodPost, "/v1/accounts", http.StatusCreated, on(acme, with(http.MethodPost, "/v1/accounts",
			`{"name":"new","tier":"free","contact":"ops@acme.example","time_zone":"Europe/Berlin","report_at":"08:00"}`))},
		{
			"there already", http.MethodPost, "/v1/accounts", http.StatusConflict,
			on(acme, with(http.MethodPost, "/v1/accounts", `{"name":"acme"}`)),
		},
		{"shown", http.MethodGet, accountPath, http.StatusOK, on(acme, get(acmePath))},
		{"none", http.MethodGet, accountPath, http.StatusNotFound, on(nothing, get(acmePath))},
		{"own", http.MethodGet, "/v1/usage", http.StatusOK, withKey(nothing, "acme", get("/v1/usage"), accounts.ScopeRead)},
		{"own without an account", http.MethodGet, "/v1/usage", http.StatusNotFound, on(nothing, get("/v1/usage"))},
		{"changed", http.MethodPatch, accountPath, http.StatusOK, on(acme, with(http.MethodPatch, acmePath, `{"tier":"free","disabled":true}`))},
		{"no such tier", http.MethodPatch, accountPath, http.StatusUnprocessableEntity, on(acme, with(http.MethodPatch, acmePath, `{"tier":"gold"}`))},
		{"unknown field", http.MethodPatch, accountPath, http.StatusUnprocessableEntity, on(acme, with(http.MethodPatch, acmePath, `{"Tier":"free"}`))},
		{"none", http.MethodPatch, accountPath, http.StatusNotFound, on(nothing, with(http.MethodPatch, acmePath, `{}`))},

		{"one more", http.MethodPost, accountPath + "/keys", http.StatusCreated, on(acme, with(http.MethodPost, acmePath+"/keys",
			`{"scopes":["submit"],"expires_at":"2027-01-01T00:00:00Z"}`))},
		{
			"no such scope", http.MethodPost, accountPath + "/keys", http.StatusUnprocessableEntity,
			on(acme, with(http.MethodPost, acmePath+"/keys", `{"scopes":["root"]}`)),
		},
		{
			"operators who see contents", http.MethodPost, accountPath + "/keys", http.StatusCreated,
			on(acme, with(http.MethodPost, acmePath+"/keys", `{"scopes":["admin","content"]}`)),
		},
		{
			"content without admin", http.MethodPost, accountPath + "/keys", http.StatusUnprocessableEntity,
			on(acme, with(http.MethodPost, acmePath+"/keys", `{"scopes":["read","content"]}`)),
		},
		{
			"content from a key without it", http.MethodPost, accountPath + "/keys", http.StatusForbidden,
			withKey(nothing, "acme", with(http.MethodPost, acmePath+"/keys", `{"scopes":["admin","content"]}`), accounts.ScopeAdmin),
		},
		{"none", http.MethodPost, accountPath + "/keys", http.StatusNotFound, on(nothing, with(http.MethodPost, acmePath+"/keys", `{}`))},
		{"rotated", http.MethodPost, rotatePath, http.StatusCreated, func(t *testing.T) reply {
			t.Helper()
			r := newRig(t)
			id := r.key("acme", accounts.ScopeRead)[3:11]
			return r.send(with(http.MethodPost, acmePath+"/keys/"+id+"/rotate", `{"overlap":"7d"}`))
		}},
		{
			"overlap that is too long", http.MethodPost, rotatePath, http.StatusUnprocessableEntity,
			on(acme, with(http.MethodPost, acmePath+"/keys/nokey/rotate", `{"overlap":"367d"}`)),
		},
		{"none", http.MethodPost, rotatePath, http.StatusNotFound, on(acme, with(http.MethodPost, acmePath+"/keys/nokey/rotate", `{}`))},
		{"removed", http.MethodDelete, accountPath + "/keys/{key}", http.StatusOK, func(t *testing.T) reply {
			t.Helper()
			r := newRig(t)
			id := r.key("acme", accounts.ScopeRead)[3:11]
			return r.send(request{method: http.MethodDelete, target: acmePath + "/keys/" + id})
		}},
		{
			"none", http.MethodDelete, accountPath + "/keys/{key}", http.StatusNotFound,
			on(acme, request{method: http.MethodDelete, target: acmePath + "/keys/nokey"}),
		},

		{"all", http.MethodGet, "/v1/tiers", http.StatusOK, on(acme, get("/v1/tiers"))},
		{"shown", http.MethodGet, tierPath, http.StatusOK, on(acme, get(freePath))},
		{"none", http.MethodGet, tierPath, http.StatusNotFound, on(nothing, get(freePath))},
		{"set", http.MethodPut, tierPath, http.StatusOK, on(nothing, with(http.MethodPut, freePath,
			`{"requests_per_minute":60,"messages_per_hour":100,"messages_per_day":500,"alert_at":[]}`))},
		{"below zero", http.MethodPut, tierPath, http.StatusUnprocessableEntity, on(nothing, with(http.MethodPut, freePath, `{"messages_per_day":-1}`))},
		{"removed", http.MethodDelete, tierPath, http.StatusOK, on(acme, with(http.MethodDelete, freePath, ""))},
		{"in use", http.MethodDelete, tierPath, http.StatusUnprocessableEntity, on(inFree, with(http.MethodDelete, freePath, ""))},
		{"none", http.MethodDelete, tierPath, http.StatusNotFound, on(nothing, with(http.MethodDelete, freePath, ""))},
		{"no number", http.MethodPut, tierPath, http.StatusUnprocessableEntity, on(nothing, with(http.MethodPut, freePath, `{"messages_per_day":"x"}`))},
	}
}

// A tier is removed once no account has it, and is not there then.
func TestATierIsRemovedOnceNobodyHasIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	inFree(r)
	remove := request{method: http.MethodDelete, target: "/v1/tiers/free"}
	p := r.problem(http.StatusUnprocessableEntity, r.send(remove))
	require.Equal(t, fault.CodeInvalidField, p.Code)
	require.Equal(t, "tier", p.Field)
	require.Equal(t, `tier "free" is in use: give account "acme" another one first`, p.Detail)
	require.Equal(t, http.StatusOK, r.get("/v1/tiers/free").status, "it is still there")

	change := request{method: http.MethodPatch, target: "/v1/accounts/acme", body: `{"tier":""}`}
	require.Equal(t, http.StatusOK, r.send(change).status)
	removed := into[message.TierRemoval](t, http.StatusOK, r.send(remove))
	require.Equal(t, message.TierRemoval{Outcome: message.TierRemoved, Tier: "free"}, removed)
	require.Equal(t, http.StatusNotFound, r.get("/v1/tiers/free").status)
	p = r.problem(http.StatusNotFound, r.send(remove))
	require.Equal(t, fault.CodeNotFound, p.Code)
	require.Equal(t, "tier", p.Field)
}
