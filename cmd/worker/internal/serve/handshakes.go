package serve

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// handshakes logs what an http.Server logs. Anybody can cause failed TLS handshakes, and connections
// that can't be accepted since too many are open, so they are logged at most once a minute, with
// their number.
type handshakes struct {
	slog.Handler

	now func() time.Time

	mu     sync.Mutex
	told   time.Time
	untold int
}

// Handle logs a record.
func (h *handshakes) Handle(ctx context.Context, r slog.Record) error {
	if !strings.HasPrefix(r.Message, "http: TLS handshake error") && !strings.HasPrefix(r.Message, "http: Accept error") {
		return h.Handler.Handle(ctx, r)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if !h.told.IsZero() && now.Sub(h.told) < time.Minute {
		h.untold++
		return nil
	}
	r.AddAttrs(slog.Int("others_before", h.untold))
	h.told, h.untold = now, 0
	return h.Handler.Handle(ctx, r)
}
