package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// conditional is a request with a body of JSON under a condition, "If-Match: x".
func conditional(method, target, body, condition string) request {
	q := request{method: method, target: target, body: body, header: http.Header{}}
	if body != "" {
		q.header.Set("Content-Type", "application/json")
	}
	if name, value, some := strings.Cut(condition, ": "); some {
		q.header.Set(name, value)
	}
	return q
}

// A policy that was read can be put back as it is, and changed under the condition
// that nobody else has.
func TestPoliciesAreReplacedByVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	got := r.get(vipPath)
	require.Equal(t, `"1"`, got.header.Get("ETag"))
	same := into[message.PolicyChange](t, http.StatusOK, r.send(conditional(http.MethodPut, vipPath, string(got.body), "")))
	require.False(t, same.Changed)
	require.Equal(t, into[message.Policy](t, http.StatusOK, got), same.New)
	require.Equal(t, &same.New, same.Old)

	for i, step := range []struct {
		rule, condition string
		status          int
		version         string // "" for no ETag
	}{
		{"1/minute", "If-None-Match: *", http.StatusPreconditionFailed, "1"},
		{"1/minute", `If-Match: "0"`, http.StatusPreconditionFailed, "1"},
		{"1/minute", `If-Match: "2"`, http.StatusPreconditionFailed, "1"},
		{"1/minute", `If-Match: "1"`, http.StatusOK, "2"},
		{"1/minute", `If-Match: "1"`, http.StatusOK, "2"}, // whose answer was lost: it may be repeated
		{"2/minute", `If-Match: "1"`, http.StatusPreconditionFailed, "2"},
		{"2/minute", "", http.StatusOK, "3"},
		{"2/minute", "If-Match: 3", http.StatusUnprocessableEntity, ""},
		{"2/minute", `If-Match: W/"3"`, http.StatusUnprocessableEntity, ""},
		{"3/minute", `If-Match: "7", "8"`, http.StatusPreconditionFailed, "3"},
		{"2/minute", `If-Match: "3",`, http.StatusUnprocessableEntity, ""},
		{"2/minute", `If-Match: "-1"`, http.StatusUnprocessableEntity, ""},
		{"2/minute", `If-Match: "x"`, http.StatusUnprocessableEntity, ""},
		{"2/minute", `If-None-Match: "3"`, http.StatusUnprocessableEntity, ""},
		{"4/minute", `If-Match: "1", "3", "2"`, http.StatusOK, "4"},
	} {
		got := r.send(conditional(http.MethodPut, vipPath, `{"rules":["`+step.rule+`"]}`, step.condition))
		require.Equal(t, step.status, got.status, "%d: %s", i, got.body)
		require.Equal(t, step.version, strings.Trim(got.header.Get("ETag"), `"`), i)
		switch step.status {
		case http.StatusPreconditionFailed:
			require.Equal(t, "version_mismatch", string(r.problem(step.status, got).Code))
		case http.StatusUnprocessableEntity:
			require.Contains(t, step.condition, r.problem(step.status, got).Field)
		}
	}
	both := conditional(http.MethodPut, vipPath, `{"rules":["1/minute"]}`, `If-Match: "3"`)
	both.header.Set("If-None-Match", "*")
	require.Equal(t, "If-None-Match", r.problem(http.StatusUnprocessableEntity, r.send(both)).Field)

	made := r.send(conditional(http.MethodPut, "/v1/policies/new", `{"rules":["1/minute"]}`, "If-None-Match: *"))
	change := into[message.PolicyChange](t, http.StatusOK, made)
	require.Nil(t, change.Old)
	require.Equal(t, []any{"new", int64(1), true}, []any{change.New.Name, change.New.Version, change.Changed})
	none := r.send(conditional(http.MethodPut, "/v1/policies/other", `{"rules":["1/minute"]}`, `If-Match: "1"`))
	require.Equal(t, http.StatusPreconditionFailed, none.status)
	require.Empty(t, none.header.Get("ETag"))

	none = r.send(conditional(http.MethodPut, "/v1/policies/other", `{"rules":["1/minute"]}`, "If-Match: *"))
	require.Equal(t, `there is no policy "other"`, r.problem(http.StatusPreconditionFailed, none).Detail)
	require.Equal(t, http.StatusOK, r.send(conditional(http.MethodPut, "/v1/policies/new", `{"rules":["2/minute"]}`, "If-Match: *")).status)

	var names []string
	for _, p := range into[message.Policies](t, http.StatusOK, r.get("/v1/policies")).Policies {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"default", "new", "vip"}, names)
}

// Of a policy that is not right nothing is applied, and the field is named.
func TestPoliciesThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	before := r.store.Dump()
	for _, wrong := range []struct{ body, field, says string }{
		{`{}`, "rules", "at least one rule"},
		{`{"rules":["1/minute"],"categories":{"m":{"rules":["1/day","2/day"]}}}`, "categories.m.rules", "categories.m.rules has 1/day and 2/day, which have the same window"},
		{`{"rules":["1/minute"],"time_zone":"Mars/Olympus"}`, "time_zone", "an IANA time zone"},
		{`{"rules":["1/minute"],"quiet_hours":["00:00-24:00"]}`, "quiet_hours", ""},
		{`{"rules":["1/minute"],"name":"default"}`, "name", `the body names the policy "default", and the address "vip"`},

		{`{"rules":["1/minute"],"quiet":["22:00-08:00"]}`, "quiet", "the nearest of 19 are quiet_hours, "},
		{`{"Rules":["1/minute"]}`, "Rules", "unknown field"},
		{`{"rules":["1/minute"],"categories":{"m":{"exempt":true,"count":false}}}`, "categories.m.count", "there are rules, exempt, counts"},
		{`{"rules":"1/minute"}`, "rules", "a list"},
		{`{"rules":[1]}`, "rules", "a text"},
		{`{"rules":["1/minute"],"user_time_zone":"yes"}`, "user_time_zone", "true or false"},
		{`{"rules":["1/minute"],"alert_at":["80"]}`, "alert_at", "a whole number"},
		{`{"rules":["1/minute"],"categories":["m"]}`, "categories", "a JSON object"},
		{`{"rules":["1/minute"],"categories":{"m":["1/day"]}}`, "categories.m", "a JSON object"},
		{`{"rules":["1/minute"],"categories":{"m":{"rules":"1/day"}}}`, "categories.m.rules", "a list"},
		{`["1/minute"]`, "body", "a JSON object"},
		{`null`, "body", "a JSON object"},
	} {
		for _, q := range []request{
			conditional(http.MethodPut, vipPath, wrong.body, ""), conditional(http.MethodPost, vipPath+"/dry-run", wrong.body, ""),
		} {
			p := r.problem(http.StatusUnprocessableEntity, r.send(q))
			require.Equal(t, fault.CodeInvalidField, p.Code, wrong.body)
			require.Equal(t, wrong.field, p.Field, "%s: %s", wrong.body, p.Detail)
			require.Contains(t, p.Detail, wrong.says, wrong.body)
		}
	}
	for _, name := range []string{"VIP", "a%20b", strings.Repeat("x", 65)} {
		p := r.problem(http.StatusUnprocessableEntity, r.send(conditional(http.MethodPut, "/v1/policies/"+name, `{"rules":["1/minute"]}`, "")))
		require.Equal(t, "policy", p.Field)
	}
	require.Equal(t, apitest.WithoutLog(before), apitest.WithoutLog(r.store.Dump()))
}

// One answer lists all errors of a body: unknown fields, members of another type, and values that
// are not allowed.
func TestAllFaultsOfABodyAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	for _, wrong := range []struct {
		method, target, body string
		says                 []string
		not                  string
	}{
		{
			http.MethodPut, vipPath, `{"foo":1,"rules":["5/hour","7/hour","0/day"],"reach":"0s","alert_at":"x","name":"default"}`,
			[]string{
				`unknown field "foo"`, "rules has 5/hour and 7/hour", `rules "0/day" is not allowed`, `reach "0s" is not allowed`,
				"alert_at is a JSON string", `the body names the policy "default"`,
			},
			"at least one rule",
		},
		{
			http.MethodPut, vipPath, `{"rules":"1/day","categories":{"m":{"rules":["1/day","2/day"],"count":true},"n":[]}}`,
			[]string{"rules is a JSON string", `unknown field "categories.m.count"`, "categories.n is a JSON array", "categories.m.rules has 1/day and 2/day"},
			"at least one rule",
		},
		{
			http.MethodPut, aliceSettings, `{"foo":1,"limits":["0/day"]}`, []string{`unknown field "foo"`, `limits "0/day" is not allowed`}, "",
		},
		{
			http.MethodPatch, aliceSettings, `{"foo":1,"time_zone":"Mars","blocked":null}`, []string{`unknown field "foo"`, `time_zone "Mars" is not allowed`}, "",
		},
		{
			http.MethodPatch, aliceSettings, `{"limits":["0/day"],"policy":"A","contact":"x","quiet_hours":["y"],"categories":{"m":["1/z"]}}`,
			[]string{`limits "0/day"`, `policy "A"`, `contact "`, `quiet_hours "y"`, `categories.m "1/z"`},
			"at least one",
		},
		{
			http.MethodPut, aliceSettings, `{"contact":"https://127.0.0.1/x","policy":"nosuch"}`, []string{"contact https://127.0.0.1", `there is no policy "nosuch"`}, "",
		},
		{
			http.MethodPut, vipPath, `{"foo":1,"alert_to":"https://127.0.0.1/x"}`, []string{`unknown field "foo"`, "alert_to https://127.0.0.1"}, "",
		},
		{
			http.MethodPost, vipPath + "/rollback", `{"foo":1}`, []string{`unknown field "foo"`, "version is missing"}, "",
		},
		{
			http.MethodPut, "/v1/tiers/free", `{"foo":1,"alert_at":[0],"messages_per_day":-1,"messages_per_hour":-2}`,
			[]string{`unknown field "foo"`, `alert_at`, "messages_per_day", "messages_per_hour"},
			"",
		},
		{
			http.MethodPost, "/v1/accounts", `{"foo":1,"tier":"A","contact":"https://127.0.0.1/x","time_zone":"Mars","report_at":"8"}`,
			[]string{`unknown field "foo"`, `tier "A"`, "contact https://127.0.0.1", `time_zone "Mars"`, `report_at "8"`},
			"",
		},
		{
			http.MethodPatch, "/v1/accounts/acme", `{"foo":1,"disabled":"yes","contact":"x","time_zone":"Mars","report_at":"8"}`,
			[]string{`unknown field "foo"`, "disabled is a JSON string", `contact "`, `time_zone "Mars"`, `report_at "8"`},
			"",
		},
		{
			http.MethodPost, "/v1/accounts/acme/keys", `{"foo":1,"scopes":[],"expires_at":"soon"}`,
			[]string{`unknown field "foo"`, "scopes is empty", `expires_at "soon"`},
			"",
		},
		{
			http.MethodPost, "/v1/accounts/acme/keys/nokey/rotate", `{"foo":1,"overlap":"soon"}`, []string{`unknown field "foo"`, `overlap "soon"`}, "",
		},
		{
			http.MethodPost, messagesPath, `{"foo":1,"user":7,"send_at":"soon","id":"a b"}`,
			[]string{`unknown field "foo"`, "user is a JSON number", `send_at "soon"`, `id "a b"`, "title or body is required"},
			`user "" is`,
		},
		{
			http.MethodPatch, aliceA, `{"foo":1,"send_at":"soon","on_conflict":"drop"}`,
			[]string{`unknown field "foo"`, `send_at "soon"`, `on_conflict "drop"`},
			"",
		},
	} {
		detail := r.problem(http.StatusUnprocessableEntity, r.send(conditional(wrong.method, wrong.target, wrong.body, ""))).Detail
		for _, says := range wrong.says {
			require.Contains(t, detail, says, wrong.body)
		}
		if wrong.not != "" {
			require.NotContains(t, detail, wrong.not)
		}
	}
}
