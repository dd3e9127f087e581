package command

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
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

func TestCommandsRefuseInternalContacts(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	const internal = "https://2130706433/s3cret" // 127.0.0.1
	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, []byte("rules: [5/hour]\nalert_to: "+internal+"\n"), 0o600))
	prints(t, environ, "", "account", "create", "acme", "--no-key")
	commands := [][]string{
		{"account", "create", "other", "--no-key", "--contact", internal},
		{"account", "set", "acme", "--contact", internal},
		{"user", "set", "alice", "--contact", internal},
		{"policy", "apply", file},
		{"event-limit", "set", "submit", "--per-day", "5", "--alert-at", "80", "--alert-to", internal},
	}
	for _, args := range commands {
		said := fails(t, cli.StatusInvalid, "allow_internal_webhooks", environ, "", args...)
		require.NotContains(t, said, "s3cret", "%s", args)
	}
	for _, args := range commands {
		_, err := command(t, append(environ, "SENDLIMIT_ALLOW_INTERNAL_WEBHOOKS=true"), "", args...)
		require.NoError(t, err, "%s", args)
	}
	said := fails(t, cli.StatusInvalid, "policy.alert_to", environ, "", "--policy-alert-to", internal, "--push-url", "log:")
	require.Contains(t, said, "allow_internal_webhooks")
}

// Where keys are asked for, what is open to everybody tells nothing of the store
// nor of what is sent.
func TestWhatIsOpenWithoutAKey(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"beyond loopback":       {"--listen", "0.0.0.0:0"},
		"where it is set to be": {"--require-keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _, environ := elsewhere(t)
			key, _ := says(t, environ, "account", "create", "prometheus", "--scopes", "admin")
			reader, _ := says(t, environ, "account", "create", "reader", "--scopes", "read")
			worker := start(t, environ, flags...).started(t)
			if flags[0] == "--listen" {
				worker.logged(t, "without TLS on an address that other machines may reach")
			}
			at, err := url.Parse(worker.attribute(t, "API endpoint", "url"))
			require.NoError(t, err)
			base := "http://127.0.0.1:" + at.Port()
			for path, status := range map[string]int{
				"/livez": 200, "/healthz": 200, "/readyz": 200, "/docs": 200, "/openapi.json": 200, "/metrics": 401, "/v1/stats": 401, "/metrics/": 404,
			} {
				require.Equal(t, status, statusWith(t, http.DefaultTransport, base+path, ""), path)
			}
			require.Equal(t, http.StatusUnauthorized, statusWith(t, http.DefaultTransport, base+"/metrics", "sk_wrong"))
			require.Equal(t, http.StatusOK, statusWith(t, http.DefaultTransport, base+"/metrics", strings.TrimSpace(key)))
			require.Equal(t, http.StatusForbidden, statusWith(t, http.DefaultTransport, base+"/metrics", strings.TrimSpace(reader)))

			m.SetError("LOADING Redis is loading the dataset in memory")
			require.Eventually(t, func() bool {
				return get(t, base+"/readyz").status == http.StatusServiceUnavailable
			}, time.Minute, 50*time.Millisecond)
			var told readiness
			require.NoError(t, json.Unmarshal([]byte(get(t, base+"/readyz").body), &told))
			require.Equal(t, condition{Check: "reachable", Status: "failed"}, told.Checks[0])
			worker.logged(t, "Redis does not answer")
			require.Equal(t, http.StatusOK, statusWith(t, http.DefaultTransport, base+"/metrics", strings.TrimSpace(key)), "a key that was valid")
			m.SetError("")
			require.NoError(t, worker.end(t))
			require.NotContains(t, worker.stderr.String(), "sk_")
		})
	}
}
