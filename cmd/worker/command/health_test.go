package command

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

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
