package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// A full minute is a conflict, and waiting does not help.
func TestAThrottleIsAConflict(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	put := r.send(conditional(http.MethodPut, "/v1/policies/default", `{"rules":["1/minute"],"categories":{"ads":{"throttle":"1/minute"}}}`, ""))
	require.Equal(t, http.StatusOK, put.status, string(put.body))
	require.Contains(t, string(r.get("/v1/policies/default").body), `"throttle":"1/minute"`)
	draft := func(target, user, at string) request {
		return conditional(http.MethodPost, target, `{"user":"`+user+`","id":"`+user+`","send_at":"`+at+`","title":"Hi","category":"ads"}`, "")
	}
	require.Equal(t, http.StatusCreated, r.send(draft(messagesPath, "alice", on22("12:00:10"))).status)
	require.Equal(t, http.StatusCreated, r.send(draft(messagesPath, "carol", on22("13:00:10"))).status)
	for _, q := range []request{
		draft(messagesPath, "bob", on22("12:00:50")), draft(messagesPath+"/dry-run", "bob", on22("12:00:50")),
		conditional(http.MethodPatch, "/v1/users/carol/messages/carol", `{"send_at":"`+on22("12:00:50")+`"}`, ""),
	} {
		got := r.send(q)
		p := r.problem(http.StatusConflict, got)
		require.Equal(t, fault.CodeThrottled, p.Code, q.target)
		require.Equal(t, on22("12:01:00.000"), p.NextFreeAt.Format(message.TimeLayout))
		require.Empty(t, got.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusUnprocessableEntity,
		r.send(conditional(http.MethodPut, "/v1/policies/default", `{"rules":["1/minute"],"categories":{"ads":{"throttle":"5/day"}}}`, "")).status)
}
