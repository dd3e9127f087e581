package serve

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// metricsPath is the path of the metrics.
const metricsPath = "/metrics"

// adminHandler answers the probes by path, and the metrics, without a key: only operators should
// reach its address.
func adminHandler(probes map[string]http.Handler, metrics http.Handler) http.Handler {
	answers := maps.Clone(probes)
	answers[metricsPath] = metrics
	known := strings.Join(slices.Sorted(maps.Keys(answers)), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		answer, found := answers[r.URL.Path]
		switch {
		case !found:
			api.WriteProblem(w, message.Outcome{
				Outcome: message.Invalid, Code: fault.CodeNotFound,
				Detail: "unknown path: here are " + known + ", and the API has another address",
			})
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			answer.ServeHTTP(w, r)
		}
	})
}

// announceAdmin logs the address of adminHandler.
func announceAdmin(ctx context.Context, base string, logger *slog.Logger) {
	logger.InfoContext(ctx, "health endpoint", "url", base+healthPath)
	logger.InfoContext(ctx, "metrics endpoint", "url", base+metricsPath)
}
