package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// telling is an exporter that logs an outage of the collector when it begins and when it is
// over. The processor before it would say so of each batch.
type telling struct {
	sdk.SpanExporter

	logger *slog.Logger

	mu   sync.Mutex
	lost int // spans, in this outage
}

// ExportSpans sends spans. It returns no error: it has told it.
func (t *telling) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := t.SpanExporter.ExportSpans(ctx, spans)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil && t.lost == 0:
		t.logger.WarnContext(ctx, "the collector does not take traces: they are dropped, and nothing else is affected", "error", withoutURL(err))
		t.lost = len(spans)
	case err != nil:
		t.lost += len(spans)
	case t.lost > 0:
		t.logger.InfoContext(ctx, "the collector takes traces again", "dropped_spans", t.lost)
		t.lost = 0
	}
	return nil
}

// withoutURL returns what is wrong, without the URL of the collector, which may contain a
// token.
func withoutURL(err error) error {
	if named, ok := errors.AsType[*url.Error](err); ok {
		return named.Err
	}
	return err
}
