package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

type requestKey struct{}

// WithRequest returns a context of the request with this id.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Logged returns a handler that adds to each line the id of the request and of the trace to which
// its context belongs, as request_id and trace_id.
func Logged(h slog.Handler) slog.Handler { return logged{h} }

type logged struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logged) Handle(ctx context.Context, r slog.Record) error {
	var ids []slog.Attr
	if id, some := ctx.Value(requestKey{}).(string); some {
		ids = append(ids, slog.String("request_id", id))
	}
	if of := trace.SpanContextFromContext(ctx); of.HasTraceID() {
		ids = append(ids, slog.String("trace_id", of.TraceID().String()))
	}
	if len(ids) > 0 {
		r = r.Clone()
		r.AddAttrs(ids...)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logged) WithAttrs(attrs []slog.Attr) slog.Handler { return logged{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h logged) WithGroup(name string) slog.Handler { return logged{h.Handler.WithGroup(name)} }
