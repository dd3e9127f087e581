package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
)

// Whoever may set contacts must not make the workers call internal servers.
func TestInternalContactsAreRefused(t *testing.T) {
	t.Parallel()
	const internal, shown = "https://169.254.169.254/latest/s3cret", "https://169.254.169.254/…"
	r := newRig(t)
	accountBefore := r.send(request{method: http.MethodPost, target: "/v1/accounts", body: `{"name":"acme"}`})
	require.Equal(t, http.StatusCreated, accountBefore.status)
	writes := []struct{ method, path, field, body string }{
		{http.MethodPost, "/v1/accounts", "contact", `{"name":"other","contact":"` + internal + `"}`},
		{http.MethodPatch, "/v1/accounts/acme", "contact", `{"contact":"` + internal + `"}`},
		{http.MethodPut, "/v1/users/alice/settings", "contact", `{"contact":"` + internal + `"}`},
		{http.MethodPatch, "/v1/users/alice/settings", "contact", `{"contact":"` + internal + `"}`},
		{http.MethodPut, "/v1/policies/vip", "alert_to", `{"rules":["5/hour"],"alert_to":"` + internal + `"}`},
	}
	for _, w := range writes {
		got := r.send(request{method: w.method, target: w.path, body: w.body})
		require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s %s: %s", w.method, w.path, got.body)
		require.Contains(t, string(got.body), `"field":"`+w.field+`"`)
		require.Contains(t, string(got.body), shown)
		require.Contains(t, string(got.body), "allow_internal_webhooks")
		require.NotContains(t, string(got.body), "s3cret")
	}
	r.serves(func(o *api.Options) { o.Contacts.AllowInternal = true })
	for _, w := range writes {
		got := r.send(request{method: w.method, target: w.path, body: w.body})
		require.Less(t, got.status, 300, "%s %s: %s", w.method, w.path, got.body)
	}
	// An existing contact stays, and does not prevent another change.
	r.serves(func(o *api.Options) { o.Contacts.AllowInternal = false })
	got := r.send(request{method: http.MethodPatch, target: "/v1/users/alice/settings", body: `{"blocked":true}`})
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
}
