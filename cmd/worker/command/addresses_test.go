package command

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
)

// No path is rewritten, which could make it another user's, and whatever is not a success
// is a problem with the request's id.
func TestNoAddressEscapesTheAPI(t *testing.T) {
	t.Parallel()
	worker := start(t, nil).started(t)
	address := worker.host(t)
	for line, status := range map[string]int{
		"GET /v1//users/a%2Fb/messages":              http.StatusNotFound,
		"GET /v1/users/../messages":                  http.StatusNotFound,
		"GET /v1/./stats":                            http.StatusNotFound,
		"GET //healthz":                              http.StatusNotFound,
		"GET /healthz/":                              http.StatusNotFound,
		"GET /v1/..":                                 http.StatusNotFound,
		"GET http://other.example/v1//stats":         http.StatusNotFound,
		"CONNECT 127.0.0.1:443":                      http.StatusNotFound,
		"CONNECT /v1/stats":                          http.StatusMethodNotAllowed,
		"OPTIONS *":                                  http.StatusNotFound,
		"POST /healthz":                              http.StatusMethodNotAllowed,
		"DELETE /readyz":                             http.StatusMethodNotAllowed,
		"POST /v1/users/alice/messages/../messages/": http.StatusNotFound,
	} {
		answered, header, body := asked(t, address, line+" HTTP/1.1\r\nHost: a\r\nX-Request-Id: order-17\r\n\r\n")
		require.Equal(t, status, answered, line)
		require.Equal(t, "application/problem+json", header.Get("Content-Type"), line)
		require.Empty(t, header.Get("Location"), line)
		var p api.Problem
		require.NoError(t, json.NewDecoder(body).Decode(&p), line)
		require.Equal(t, status, p.Status, line)
		require.Equal(t, "order-17", p.Instance, line)
		require.Equal(t, "order-17", header.Get("X-Request-Id"), line)
	}
	for _, path := range []string{"/healthz", "/readyz", "/%68ealthz"} {
		answered, header, _ := asked(t, address, "GET "+path+" HTTP/1.1\r\nHost: api.example.org\r\n\r\n")
		require.Equal(t, http.StatusOK, answered, path)
		require.NotEmpty(t, header.Get("X-Request-Id"), path)
		answered, _, _ = asked(t, address, "HEAD "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
		require.Equal(t, http.StatusOK, answered, path)
	}
	for path, user := range map[string]string{"%2E%2E": "..", "%2E": ".", "a%2F%2Fb": "a//b", "..%2F..%2Fhealthz": "../../healthz"} {
		answered, _, body := asked(t, address, "GET /v1/users/"+path+"/usage HTTP/1.1\r\nHost: a\r\n\r\n")
		require.Equal(t, http.StatusOK, answered, path)
		var usage message.Usage
		require.NoError(t, json.NewDecoder(body).Decode(&usage))
		require.Equal(t, user, usage.User)
	}
	require.NoError(t, worker.end(t))
}

// The dashboard is at / unless a setting leaves it out, and takes no address of the API.
func TestTheDashboardIsBesideTheAPI(t *testing.T) {
	t.Parallel()
	with := start(t, nil).started(t)
	page := get(t, with.attribute(t, "dashboard", "url"))
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.header.Get("Content-Type"), "text/html")
	require.Contains(t, page.body, "<h1>Overview</h1>")
	require.Equal(t, http.StatusOK, get(t, with.attribute(t, "API endpoint", "url")+"stats").status)
	require.NoError(t, with.end(t))

	without := start(t, nil, "--dashboard=false").started(t)
	require.Equal(t, http.StatusNotFound, get(t, "http://"+without.host(t)+"/").status)
	require.NoError(t, without.end(t))
}
