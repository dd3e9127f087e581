package tracing

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A caller decides neither by the flag of its traceparent nor by its trace id.
func TestACallerDecidesNothing(t *testing.T) {
	t.Parallel()
	lowest, highest := trace.TraceID{1}, trace.TraceID{15: 1}
	for i := range 8 {
		highest[8+i] = 0xff
	}
	for ratio, want := range map[string]sdk.SamplingDecision{"0": sdk.Drop, "1": sdk.RecordAndSample} {
		for _, kind := range []string{"", "parentbased_"} {
			sampler, _, err := samplerOf(func(names ...string) (string, string) {
				value := map[string]string{"OTEL_TRACES_SAMPLER": kind + "traceidratio", "OTEL_TRACES_SAMPLER_ARG": ratio}[names[0]]
				return names[0], value
			})
			require.NoError(t, err)
			for _, id := range []trace.TraceID{lowest, highest} {
				for _, flags := range []trace.TraceFlags{0, trace.FlagsSampled} {
					parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{1}, TraceFlags: flags, Remote: true})
					got := sampler.ShouldSample(sdk.SamplingParameters{ParentContext: trace.ContextWithSpanContext(t.Context(), parent), TraceID: id})
					require.Equal(t, want, got.Decision, "%s%s %v", kind, ratio, flags)
				}
			}
		}
	}
	half := unguided{sdk.TraceIDRatioBased(0.5)}
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: lowest, SpanID: trace.SpanID{1}, Remote: true})
	dropped := 0
	for range 200 {
		if half.ShouldSample(sdk.SamplingParameters{ParentContext: trace.ContextWithSpanContext(t.Context(), parent), TraceID: lowest}).Decision == sdk.Drop {
			dropped++
		}
	}
	require.Greater(t, dropped, 20, "an id of zeros would always be sampled")
}
