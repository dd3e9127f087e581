package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/rawtest"
)

// What is no request that can be read is answered in the form of all answers.
func TestWhatIsNoRequestIsAProblem(t *testing.T) {
	t.Parallel()
	address := serving(t, bodyTimeout, refuse)
	for name, row := range map[string]struct {
		text   string
		status int
		detail string
	}{
		"no HTTP":              {"hello\r\n\r\n", http.StatusBadRequest, "this is no HTTP request: its first line or a header is malformed"},
		"no header":            {"GET / HTTP/1.1\r\nHost: a\r\nx\r\n\r\n", http.StatusBadRequest, "this is no HTTP request: its first line or a header is malformed"},
		"no Host":              {"GET / HTTP/1.1\r\n\r\n", http.StatusBadRequest, "malformed HTTP request: missing required Host header"},
		"two Hosts":            {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", http.StatusBadRequest, "this is no HTTP request: its first line or a header is malformed"},
		"a bad Host":           {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", http.StatusBadRequest, "malformed HTTP request: malformed Host header"},
		"another encoding":     {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n", http.StatusNotImplemented, "the transfer encoding is not supported: use chunked, or Content-Length"},
		"another version":      {"GET / HTTP/3.1\r\nHost: a\r\n\r\n", http.StatusHTTPVersionNotSupported, "the version of HTTP is not supported: use HTTP/1.1"},
		"too large headers":    {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 30_000) + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge, "the headers of the request are too large: send fewer or shorter ones"},
		"after a good request": {"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n", http.StatusBadRequest, "malformed HTTP request: missing required Host header"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, from := rawtest.Send(t, address, row.text)
			if name == "after a good request" {
				require.Equal(t, http.StatusUnauthorized, heard(t, from).status)
			}
			answer, err := http.ReadResponse(from, nil)
			require.NoError(t, err)
			defer answer.Body.Close()
			require.Equal(t, row.status, answer.StatusCode)
			require.True(t, answer.Close)
			require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
			var p api.Problem
			require.NoError(t, json.NewDecoder(answer.Body).Decode(&p))
			require.Equal(t, row.status, p.Status)
			require.Equal(t, row.detail, p.Detail)
			require.NotEmpty(t, p.Instance)
			require.Equal(t, answer.Header.Get("X-Request-Id"), p.Instance)
		})
	}
}

// An answer of a handler stays as it is, even one that looks like those of net/http.
func TestAnswersOfHandlersAreNotReplaced(t *testing.T) {
	t.Parallel()
	_, from := rawtest.Send(t, serving(t, bodyTimeout, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		http.Error(w, "400 Bad Request", http.StatusBadRequest)
	}), "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	answer, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, "text/plain; charset=utf-8", answer.Header.Get("Content-Type"))
}
