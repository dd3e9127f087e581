package command

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A load balancer sees that a worker stops before anything fails at it. Another signal ends the wait.
func TestAStoppingWorkerServesForTheDrainDelay(t *testing.T) {
	t.Parallel()
	worker := start(t, nil, "--drain-delay", "10m").started(t)
	base := worker.page(t, "")
	require.False(t, asks(t, base+"v1/stats").Close, "connections last")
	worker.stop()
	worker.logged(t, "still serving")
	require.Equal(t, readiness{Status: "stopping", Checks: []condition{}}, looksReady(t, base+"readyz", http.StatusServiceUnavailable))
	worker.submits(t, "alice", 0)
	require.Eventually(t, func() bool { return worker.stdout.String() != "" }, time.Minute, 5*time.Millisecond, "it delivers, too")
	for _, page := range []string{"v1/stats", "livez", "users"} {
		answer := asks(t, base+page)
		require.Equal(t, http.StatusOK, answer.StatusCode, page)
		require.True(t, answer.Close, "the next request goes to another worker")
	}
	worker.again <- struct{}{}
	require.NoError(t, worker.result(t))
}

// asks returns the answer to a GET, without its body.
func asks(t *testing.T, address string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer
}
