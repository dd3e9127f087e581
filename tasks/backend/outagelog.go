package backend

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// errorKey is the key of a warning's error: a *fault.UnavailableError in warnings about the store.
const errorKey = "error"

// sameBytes is how much of their errors equal warnings have in common, before addresses and ids.
const sameBytes = 40

// Logger returns a logger for the parts of a program. It logs a warning about the store
// at debug level during an outage, and otherwise at most once in RepeatAfter.
func (w *OutageWatch) Logger() *slog.Logger { return slog.New(handler{w.logger.Handler(), w}) }

type handler struct {
	slog.Handler

	watch *OutageWatch
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if warning, ok := ofStore(r); ok && (h.watch.away(ctx) || !h.watch.due(warning)) {
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

// ofStore returns the text of a warning about the store.
func ofStore(r slog.Record) (warning string, ok bool) {
	if r.Level < slog.LevelWarn {
		return "", false
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != errorKey {
			return true
		}
		err, _ := a.Value.Any().(error)
		if _, ok = errors.AsType[*fault.UnavailableError](err); ok {
			text := err.Error()
			warning = r.Message + ": " + text[:min(len(text), sameBytes)]
		}
		return false
	})
	return warning, ok
}
