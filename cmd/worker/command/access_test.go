package command

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
