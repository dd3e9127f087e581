package backend

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// errorKey is the key of a warning's error: a *fault.UnavailableError in warnings about the store.
const errorKey = "error"

// Logger returns a logger for the parts of a program. It logs a warning about the store at debug
// level during an outage, limits the others, and adds the ids of request and trace.
func (w *OutageWatch) Logger() *slog.Logger {
	return slog.New(tracing.Logged(handler{w.limiter.Handler(w.logger.Handler()), w}))
}

type handler struct {
	slog.Handler

	watch *OutageWatch
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if ofStore(r) && h.watch.away(ctx) {
		r.Level = slog.LevelDebug
		if !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.watch}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.watch}
}

// ofStore reports whether a line is a warning about the store.
func ofStore(r slog.Record) (is bool) {
	if r.Level < slog.LevelWarn {
		return false
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != errorKey {
			return true
		}
		err, _ := a.Value.Any().(error)
		_, is = errors.AsType[*fault.UnavailableError](err)
		return false
	})
	return is
}
