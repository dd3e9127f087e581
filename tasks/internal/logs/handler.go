package logs

import (
	"context"
	"log/slog"
)

const (
	// idKey and deviceKey are the keys of the ids of a message and a device.
	idKey     = "id"
	deviceKey = "device"
	// reasonKey is the key of why something failed, one of a closed set.
	reasonKey = "reason"
)

// Handler returns a handler that writes to h the lines that are due.
func (l *Limiter) Handler(h slog.Handler) slog.Handler { return handler{h, l} }

type handler struct {
	slog.Handler

	limiter *Limiter
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn && (r.Level <= slog.LevelDebug || !hasReason(r)) {
		return h.Handler.Handle(ctx, r)
	}
	debugs := h.Enabled(ctx, slog.LevelDebug)
	if !debugs {
		r = withoutIDs(r)
	}
	due, left := h.limiter.take(h.Handler, r)
	switch {
	case !due && !debugs:
		return nil
	case !due:
		r = r.Clone()
		r.Level = slog.LevelDebug
	case left > 0:
		r = r.Clone()
		r.AddAttrs(slog.Int(repeatedKey, left))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.limiter}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.limiter}
}

func hasReason(r slog.Record) (has bool) {
	r.Attrs(func(a slog.Attr) bool {
		has = a.Key == reasonKey
		return !has
	})
	return has
}

func withoutIDs(r slog.Record) slog.Record {
	without := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != idKey && a.Key != deviceKey {
			without.AddAttrs(a)
		}
		return true
	})
	return without
}
