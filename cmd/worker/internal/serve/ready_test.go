package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadyWhileTheWorkerStops(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	answers := unreadyAfter(stopped, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	asked := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		answers.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, readyPath, http.NoBody))
		return w
	}
	require.Equal(t, http.StatusOK, asked().Code)
	close(stopped)
	require.Equal(t, http.StatusServiceUnavailable, asked().Code)
	require.JSONEq(t, `{"status":"stopping","checks":[]}`, asked().Body.String())
}
