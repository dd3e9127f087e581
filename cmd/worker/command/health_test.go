package command

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
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

func TestHealth(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	worker := start(t, environ).started(t)
	url := worker.attribute(t, "health endpoint", "url")

	well := get(t, url)
	require.Equal(t, http.StatusOK, well.status)
	require.JSONEq(t, `{"status":"ok"}`, well.body)
	require.Equal(t, "application/json", well.header.Get("Content-Type"))

	require.Equal(t, http.StatusNotFound, get(t, strings.TrimSuffix(url, "z")).status)
	require.Equal(t, http.StatusNotFound, get(t, url+"/deeper").status)
	require.Equal(t, http.StatusMethodNotAllowed, request(t, http.MethodPost, url).status)

	m.SetError("LOADING Redis is loading the dataset in memory")
	ill := get(t, url)
	require.Equal(t, http.StatusServiceUnavailable, ill.status)
	require.JSONEq(t, `{"status":"unavailable"}`, ill.body)
	m.SetError("")
	require.Equal(t, http.StatusOK, get(t, url).status, "it recovers")
}

func TestHealthOfAStoreThatHangs(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	worker := start(t, environ).started(t)
	url := worker.attribute(t, "health endpoint", "url")

	hang := make(chan struct{})
	defer close(hang)
	m.Server().SetPreHook(func(_ *server.Peer, command string, _ ...string) bool {
		if command == "PING" {
			<-hang
		}
		return false
	})
	begun := time.Now()
	require.Equal(t, http.StatusServiceUnavailable, get(t, url).status)
	require.Less(t, time.Since(begun), 2900*time.Millisecond, "before the client's own timeout")
}

func TestHealthOff(t *testing.T) {
	t.Parallel()
	worker := start(t, nil, "--listen", "off").started(t)
	worker.notLogged(t, "health endpoint")
	require.NoError(t, worker.end(t))
}
