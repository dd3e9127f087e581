package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadyWhileTheWorkerStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	answers := unreadyAfter(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	asked := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		answers.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w
	}
	require.Equal(t, http.StatusOK, asked("/readyz").Code)
	stop()
	require.Equal(t, http.StatusServiceUnavailable, asked("/readyz").Code)
	require.JSONEq(t, `{"status":"stopping","checks":[]}`, asked("/readyz").Body.String())
	require.Equal(t, http.StatusOK, asked("/healthz").Code, "it lives, and finishes what it has in hand")
}
