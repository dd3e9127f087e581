package tracing_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

func TestALineHasTheIDsOfItsRequestAndTrace(t *testing.T) {
	t.Parallel()
	out := new(bytes.Buffer)
	logger := slog.New(tracing.Logged(slog.NewTextHandler(out, nil))).With("part", "api")
	logger.InfoContext(t.Context(), "alone")
	require.NotContains(t, out.String(), "_id=")
	ctx := tracing.WithRequest(t.Context(), "order-17")
	ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}))
	logger.InfoContext(ctx, "within")
	require.Contains(t, out.String(), "msg=within part=api request_id=order-17 trace_id=01000000000000000000000000000000\n")
}
