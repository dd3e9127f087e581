package serve

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/tasks/backend"
)

// pingTimeout is how long the store may take before the worker counts as unhealthy.
const pingTimeout = time.Second

// probes returns what the API answers without a key, for the system that starts and stops
// workers. Once stopping is closed it is not ready, nor if the worker is held back.
func probes(
	b *backend.Backend, c config.Config, held *heldBack, stopping <-chan struct{}, logger *slog.Logger,
) map[string]http.Handler {
	open := !asksForKeys(c) || c.AdminListen != ""
	ready := readyHandler(readinessOf(b, c.Prefix, held), open, logger)
	return map[string]http.Handler{
		livePath:   http.HandlerFunc(answerAlive),
		healthPath: healthHandler(b.Client, logger),
		readyPath:  unreadyAfter(stopping, ready),
	}
}

// livePath is where answerAlive answers.
const livePath = "/livez"

// answerAlive answers that the process works, whatever the store does: a new process would
// not mend a store that is away, and would have to find its messages again.
func answerAlive(w http.ResponseWriter, _ *http.Request) {
	api.WriteJSON(w, http.StatusOK, map[string]string{"status": "alive"})
}

// healthPath is where healthHandler answers.
const healthPath = "/healthz"

// healthHandler answers whether the store answers.
func healthHandler(client redis.Cmdable, logger *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
		defer cancel()
		status, word := http.StatusOK, "ok"
		if err := client.Ping(ctx).Err(); err != nil {
			logger.DebugContext(ctx, "the store does not answer", "error", err) // an outage is warned of once
			status, word = http.StatusServiceUnavailable, "unavailable"
		}
		api.WriteJSON(w, status, map[string]string{"status": word})
	}
}
