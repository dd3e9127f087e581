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

// probes returns the answers of the API without a key, for the system that starts and stops
// workers. The worker is not ready once draining is closed, or if it is held back.
func probes(
	b *backend.Backend, c config.Config, held *heldBack, draining <-chan struct{}, logger *slog.Logger,
) map[string]http.Handler {
	open := !asksForKeys(c) || c.AdminListen != ""
	ready := readyHandler(readinessOf(b, c.Prefix, held), open, logger)
	return map[string]http.Handler{
		livePath:   http.HandlerFunc(answerAlive),
		healthPath: healthHandler(b.Client, logger),
		readyPath:  unreadyAfter(draining, ready),
	}
}

// livePath is the path of answerAlive.
const livePath = "/livez"

// answerAlive answers that the process works, whatever the state of the store: a restart would not
// repair the store.
func answerAlive(w http.ResponseWriter, _ *http.Request) {
	api.WriteJSON(w, http.StatusOK, map[string]string{"status": "alive"})
}

// healthPath is the path of healthHandler.
const healthPath = "/healthz"

// healthHandler answers whether the store answers.
func healthHandler(client redis.Cmdable, logger *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
		defer cancel()
		status, word := http.StatusOK, "ok"
		if err := client.Ping(ctx).Err(); err != nil {
			logger.DebugContext(ctx, "the store does not answer", "error", err) // an outage is logged once
			status, word = http.StatusServiceUnavailable, "unavailable"
		}
		api.WriteJSON(w, status, map[string]string{"status": word})
	}
}
