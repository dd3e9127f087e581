package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// telling is an exporter that logs an outage of the collector at its start and its end. The
// processor before it would log each batch.
type telling struct {
	sdk.SpanExporter

	logger *slog.Logger

	mu   sync.Mutex
	lost int // spans, in this outage
}

// ExportSpans sends spans. It returns no error, since it has logged it.
func (t *telling) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := t.SpanExporter.ExportSpans(ctx, spans)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil && t.lost == 0:
		t.logger.WarnContext(ctx, "the collector does not accept traces: they are dropped, and nothing else is affected", "error", withoutURL(err))
		t.lost = len(spans)
	case err != nil:
		t.lost += len(spans)
	case t.lost > 0:
		t.logger.InfoContext(ctx, "the collector accepts traces again", "dropped_spans", t.lost)
		t.lost = 0
	}
	return nil
}

// withoutURL returns the cause without the URL of the collector, which may contain a token.
func withoutURL(err error) error {
	if named, ok := errors.AsType[*url.Error](err); ok {
		return named.Err
	}
	return err
}
