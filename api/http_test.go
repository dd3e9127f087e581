package api_test

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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

// Half of a surrogate pair would be stored as U+FFFD, which makes one user of several.
// A gateway that checks the first of two users would let the second one pass.
func TestAmbiguousJSONIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	const after = `","send_at":"now","title":"Hi","id":"a"}`
	for _, row := range []struct{ method, target, body, field string }{
		{http.MethodPost, "/v1/messages", `{"user":"bob\ud800` + after, "user"},
		{http.MethodPost, "/v1/messages", `{"user":"bob\udfff` + after, "user"},
		{http.MethodPost, "/v1/messages", `{"user":"bob\ud83d` + after, "user"},
		{http.MethodPost, "/v1/messages", `{"user":"eve","us\u0065r":"bob` + after, "user"},
		{http.MethodPost, "/v1/messages", `{"id":"b","user":"bob` + after, "id"},
		{http.MethodPost, "/v1/messages", `{"data":{"a":"b","\u0061":"c"},"user":"bob` + after, "data.a"},
		{http.MethodPost, "/v1/messages/dry-run", `{"send_at":"now","user":"bob` + after, "send_at"},
		{http.MethodPatch, aliceA, `{"send_at":"now","send_at":"` + on22("11:11:11") + `"}`, "send_at"},
		{http.MethodPut, aliceSettings, `{"time_zone":"\ud800"}`, "time_zone"},
		{http.MethodPatch, aliceSettings, `{"blocked":true,"blocked":false}`, "blocked"},
		{http.MethodPut, "/v1/policies/default", `{"rules":["1/minute"],"rules":["9/minute"]}`, "rules"},
		{http.MethodPost, "/v1/policies/default/dry-run", `{"rules":["1/minute"],"categories":{"a":{},"a":{}}}`, "categories.a"},
		{http.MethodPost, "/v1/accounts", `{"name":"acme","name":"other"}`, "name"},
		{http.MethodPut, "/v1/tiers/free", `{"messages_per_day":1,"messages_per_day":2}`, "messages_per_day"},
	} {
		p := r.problem(http.StatusUnprocessableEntity, r.send(request{method: row.method, target: row.target, body: row.body}))
		require.Equal(t, fault.CodeInvalidField, p.Code, row.body)
		require.Equal(t, row.field, p.Field, row.body)
	}
	p := r.problem(http.StatusBadRequest, r.post("/v1/messages", `{"user":"bob",}`))
	require.Equal(t, "body", p.Field)
	require.Equal(t, "invalid JSON at byte 14: invalid character ',' at start of value", p.Detail)
}

// Keys of other services are longer than ids, and have other characters. Each maps to the same id
// for ever: a repeated request must find its message after an upgrade.
func TestIdempotencyKeysThatAreNoIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, row := range []struct{ key, same, id string }{
		{"order 17", `"order 17"`, "ik_C8ySDjk4wbhuNIP8mIjG1tEwYV-nVExrQUUV0bqBWbs"},
		{`a"b\c`, `"a\"b\\c"`, ""},
		{strings.Repeat("k", 255), `"` + strings.Repeat("k", 255) + `"`, ""},
		{strings.Repeat("k", 128), "", strings.Repeat("k", 128)},
		{"users/7/orders#1?~", "", ""},
	} {
		submit := func(key string) reply {
			return r.send(request{
				http.MethodPost, "/v1/messages", fmt.Sprintf(`{"user":"user-%d","send_at":%q,"title":"Hi"}`, i, on22("11:11:11")),
				http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}},
			})
		}
		first := into[message.Outcome](t, http.StatusCreated, submit(row.key))
		if row.id != "" {
			require.Equal(t, row.id, first.ID)
		}
		again := into[message.Outcome](t, http.StatusOK, submit(cmp.Or(row.same, row.key)))
		require.True(t, again.Replayed, row.key)
		require.Equal(t, first.ID, again.ID, row.key)
		into[message.Status](t, http.StatusOK, r.get("/v1/users/user-"+strconv.Itoa(i)+"/messages/"+first.ID))
	}
}

// Requests that would be done twice, or have no single id, accept no key.
func TestIdempotencyKeysThatWouldBeIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.key("acme", accounts.ScopeRead)
	for target, contentType := range map[string]string{
		batchPath: "application/x-ndjson", checkBatchPath: "application/x-ndjson", recordSentPath: "application/x-ndjson", "/v1/accounts/acme/keys": "application/json",
		"/v1/accounts/acme/keys/nokey/rotate": "application/json",
	} {
		p := r.problem(http.StatusUnprocessableEntity, r.send(request{
			http.MethodPost, target, `{}`, http.Header{"Content-Type": {contentType}, "Idempotency-Key": {"a"}},
		}))
		require.Equal(t, "Idempotency-Key", p.Field, target)
	}
}

// RFC 3339 has years of four digits. A time that would be answered with another year is
// refused.
func TestNoAnswerHasAYearOfFiveDigits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	acme(r)
	const user, beyond, before = "/v1/users/alice", "9999-12-31T23:59:59-12:00", "0000-01-01T00:00:00+12:00"
	at := func(text string) string { return url.QueryEscape(text) }
	for target, field := range map[string]string{
		user + "/usage?at=9999-12-31T23:59:59Z":                                                      "at",
		user + "/usage?at=9998-12-31T23:59:59Z":                                                      "at",
		user + "/usage?at=" + at(beyond):                                                             "at",
		user + "/usage?from=9999-12-31T00:00:00Z&until=" + at(beyond):                                "until",
		user + "/usage?from=9999-12-31T00:00:00Z&until=9999-12-31T23:00:00Z":                         "from",
		user + "/usage?at=" + at(before):                                                             "at",
		user + "/messages?until=" + at(beyond):                                                       "until",
		user + "/next-free?from=" + at(beyond):                                                       "from",
		user + "/usage?at=2026-11-22T00:00:00Z&from=9999-12-31T00:00:00Z&until=9999-12-31T01:00:00Z": "from",
	} {
		require.Equal(t, field, r.problem(http.StatusUnprocessableEntity, r.get(target)).Field, target)
	}
	for target, body := range map[string]string{
		messagesPath:             `{"user":"alice","send_at":"` + on22("11:11:11") + `","title":"Hi","expires_at":"` + beyond + `"}`,
		"/v1/accounts/acme/keys": `{"expires_at":"` + beyond + `"}`,
	} {
		require.Equal(t, "expires_at", r.problem(http.StatusUnprocessableEntity, r.post(target, body)).Field, target)
	}
	for _, target := range []string{
		user + "/usage?at=9997-12-31T23:59:59Z", user + "/usage?at=0001-01-02T00:00:00Z",
		user + "/messages?until=9999-12-31T23:59:59Z", user + "/next-free?from=9999-12-31T23:59:59Z",
	} {
		got := r.get(target)
		require.Equal(t, http.StatusOK, got.status, "%s: %s", target, got.body)
		require.NotRegexp(t, `"-?\d{5,}-|"-`, string(got.body), target)
	}
}
