package api

import (
	"net/http"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
)

// A route without a scope, or with one that keys can't have, is not served.
func TestARouteWithoutAScope(t *testing.T) {
	t.Parallel()
	for scope, served := range map[accounts.Scope]bool{"submit": true, "read": true, "admin": true, "": false, "everybody": false} {
		err := scoped([]route{{Operation: huma.Operation{Method: http.MethodGet, Path: "/v2/secrets"}, scope: scope}})
		require.Equal(t, served, err == nil, "%q: %v", scope, err)
	}
	require.NoError(t, scoped((&server{schemas: newSchemas()}).routes()))
}
