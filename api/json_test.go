package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

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
