package serve

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
)

// pingTimeout is how long the store may take before the worker counts as unhealthy.
const pingTimeout = time.Second

// healthHandler answers whether the store answers.
func healthHandler(client redis.Cmdable, logger *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
		defer cancel()
		status, word := http.StatusOK, "ok"
		if err := client.Ping(ctx).Err(); err != nil {
			logger.WarnContext(ctx, "the store does not answer", "error", err)
			status, word = http.StatusServiceUnavailable, "unavailable"
		}
		answerJSON(w, status, map[string]string{"status": word})
	}
}
