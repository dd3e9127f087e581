package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestRequestsToTheAPIAreMeasuredByMethodAndCode(t *testing.T) {
	t.Parallel()
	m := &serviceMetrics{requests: newAPIDurations()}
	extended := 0
	handler := m.measured(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if http.NewResponseController(w).Flush() == nil {
			extended++
		}
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	ask := func(method, path, content string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("{}"))
		r.Header.Set("Content-Type", content)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	ask(http.MethodGet, "/v1/stats", "")
	ask(http.MethodGet, "/v1/policies", "")
	ask(http.MethodPost, "/v1/messages", "application/json")
	require.Equal(t, 2, testutil.CollectAndCount(m.requests), "one for each method")
	for _, other := range []string{"/metrics", "/healthz", "/v1/events", "/v1/accounts/acme/events"} {
		ask(http.MethodDelete, other, "")
	}
	ask(http.MethodPatch, "/v1/messages/batch", "application/x-ndjson")
	require.Equal(t, 2, testutil.CollectAndCount(m.requests), "these are not measured")
	require.Equal(t, 8, extended, "a handler still flushes and sets deadlines")
	problems, err := testutil.CollectAndLint(m.requests)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.True(t, m.requests.DeleteLabelValues("200", "post"), "an alert selects it in lower case")
}
