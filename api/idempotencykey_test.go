package api_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

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
