package tracing

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// failing is an exporter that fails with err.
type failing struct {
	sdk.SpanExporter

	err error
}

func (f *failing) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return f.err }

// An outage of the collector is logged when it begins and when it is over, without the URL.
func TestAnOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	log := new(bytes.Buffer)
	collector := &failing{}
	told := &telling{SpanExporter: collector, logger: slog.New(slog.NewTextHandler(log, nil))}
	export := func() { require.NoError(t, told.ExportSpans(t.Context(), make([]sdk.ReadOnlySpan, 3))) }
	export()
	require.Empty(t, log.String())
	for range 2 {
		log.Reset()
		collector.err = &url.Error{Op: "Post", URL: "http://c/?token=secret", Err: errors.New("connection refused")}
		export()
		export()
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log)
		require.Contains(t, log.String(), "does not accept traces")
		require.Contains(t, log.String(), "connection refused")
		require.NotContains(t, log.String(), "secret")
		collector.err = nil
		export()
		export()
		require.Equal(t, 2, strings.Count(log.String(), "\n"), log)
		require.Contains(t, log.String(), "dropped_spans=6")
	}
}
