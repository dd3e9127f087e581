package tracing

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
)

// What a record keeps names the span of the submit again. Of a submit that is not sampled it
// keeps nothing.
func TestReference(t *testing.T) {
	t.Parallel()
	config := trace.SpanContextConfig{TraceID: trace.TraceID{1, 0, 255}, SpanID: trace.SpanID{9, 0, 10}, TraceFlags: trace.FlagsSampled}
	sampled := trace.NewSpanContext(config)
	kept := Reference(trace.ContextWithSpanContext(t.Context(), sampled))
	require.Len(t, kept, 24)
	found, some := referred(kept)
	require.True(t, some)
	require.True(t, found.IsRemote())
	require.True(t, found.Equal(sampled.WithRemote(true)))

	config.TraceFlags = 0
	require.Nil(t, Reference(trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(config))))
	require.Nil(t, Reference(t.Context()))
	for _, unknown := range [][]byte{nil, kept[1:], append([]byte{0}, kept...), make([]byte, 24)} {
		_, some := referred(unknown)
		require.False(t, some)
	}
}
