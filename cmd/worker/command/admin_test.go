package command

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// With an admin address, health and metrics are there without a key, and nowhere else.
func TestAdminListen(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	worker := start(t, environ, "--admin-listen", "127.0.0.1:0", "--require-keys").started(t)
	admin := strings.TrimSuffix(worker.attribute(t, "health endpoint", "url"), "/healthz")
	public := strings.TrimSuffix(worker.attribute(t, "API endpoint", "url"), "/v1/")
	require.NotEqual(t, admin, public)
	for path, want := range map[string]string{
		"/livez": `{"status":"alive"}`, "/healthz": `{"status":"ok"}`, "/readyz": `"status":"ready"`,
		"/metrics": `sendlimit_build_info{goversion="go`,
	} {
		answer := get(t, admin+path)
		require.Equal(t, http.StatusOK, answer.status, path)
		require.Contains(t, answer.body, want)
		require.Equal(t, "nosniff", answer.header.Get("X-Content-Type-Options"), path)
		require.Equal(t, http.StatusMethodNotAllowed, request(t, http.MethodPost, admin+path).status)
		require.Equal(t, http.StatusNotFound, get(t, public+path).status, path)
	}
	require.Equal(t, "application/json", get(t, admin+"/healthz").header.Get("Content-Type"))
	for _, path := range []string{"/v1/stats", "/health", "/healthz/deeper"} {
		require.Equal(t, http.StatusNotFound, get(t, admin+path).status, path)
	}
	require.Equal(t, http.StatusUnauthorized, get(t, public+"/v1/stats").status)

	// Operators see why it is not ready, although the API asks for keys.
	m.SetError("LOADING Redis is loading the dataset in memory")
	require.Equal(t, http.StatusOK, get(t, admin+"/livez").status, "a new process would not mend the store")
	require.Eventually(t, func() bool { return strings.Contains(get(t, admin+"/readyz").body, "still loading") }, time.Minute, 20*time.Millisecond)
	ill := get(t, admin+"/healthz")
	require.Equal(t, http.StatusServiceUnavailable, ill.status)
	require.JSONEq(t, `{"status":"unavailable"}`, ill.body)
	m.SetError("")
	require.Equal(t, http.StatusOK, get(t, admin+"/healthz").status, "it recovers")
	require.NoError(t, worker.end(t))
}

func TestHealthCommand(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	worker := start(t, environ, "--admin-listen", "127.0.0.1:0").started(t)
	admin := strings.TrimSuffix(worker.attribute(t, "health endpoint", "url"), "/healthz")
	address := strings.TrimPrefix(admin, "http://")

	said := prints(t, nil, "", "health", "--admin-listen", address)
	require.Equal(t, "ready\n", said)
	said = prints(t, nil, "", "health", "--url", admin+"/livez", "--json")
	require.JSONEq(t, `{"status":"alive"}`, said)

	m.SetError("LOADING Redis is loading the dataset in memory")
	var err error
	require.Eventually(t, func() bool { // an answer is kept for a second
		said, err = command(t, nil, "", "health", "--admin-listen", address)
		return err != nil
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, cli.StatusError(cli.StatusUnavailable), err)
	require.Regexp(t, `^unready\nreachable: failed, .*still loading`, said)
	m.SetError("")

	require.NoError(t, worker.end(t))
	_, err = command(t, nil, "", "health", "--admin-listen", address)
	require.ErrorContains(t, err, "no worker answers at http://"+address+"/readyz: dial tcp")
	require.Equal(t, cli.StatusUnavailable, cli.ExitCode(err))
	_, err = command(t, nil, "", "health", "--listen", "off")
	require.ErrorContains(t, err, "listen and admin_listen are off")
}

type answer struct {
	status int
	body   string
	header http.Header
}

func get(t *testing.T, url string) answer {
	t.Helper()
	return request(t, http.MethodGet, url)
}

func request(t *testing.T, method, url string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{status: response.StatusCode, body: string(body), header: response.Header}
}

func TestHealthOff(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	worker := start(t, environ, "--listen", "off").started(t)
	worker.notLogged(t, "health endpoint")
	require.NoError(t, worker.end(t))
}
