package tracing

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	endpointKey = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesKey   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestTracingIsOffUnlessACollectorIsNamed(t *testing.T) {
	t.Parallel()
	for _, off := range [][]string{
		nil,
		{"OTEL_TRACES_SAMPLER", "nonsense"},
		{endpointKey, " "},
		{endpointKey, "http://c", "OTEL_SDK_DISABLED", "TRUE"},
		{endpointKey, "http://c", "OTEL_TRACES_EXPORTER", "none"},
	} {
		started, err := Start(t.Context(), Program{Getenv: environment(off...)}, nil)
		require.NoError(t, err)
		require.Nil(t, started)
		require.Nil(t, started.Provider())
		started.Stop(t.Context(), 0)
	}
}

func TestWhereTracesGo(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		environ []string
		to      string
		grpc    bool
	}{
		{[]string{endpointKey, "http://c:4318"}, "http://c:4318/v1/traces", false},
		{[]string{endpointKey, "https://c/prefix/"}, "https://c/prefix/v1/traces", false},
		{[]string{endpointKey, "http://other", tracesKey, "http://c/as/is"}, "http://c/as/is", false},
		{[]string{endpointKey, "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, "http://c:4317", true},
	} {
		s, on, err := read(environment(row.environ...))
		require.NoError(t, err)
		require.True(t, on)
		require.Equal(t, row.to, s.endpoint)
		require.Equal(t, row.grpc, s.grpc)
		require.Equal(t, "parentbased_always_on", s.sampling)
	}
}

func TestWrongSettingsSayWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, value, want string }{
		{endpointKey, "c:4318", "a URL such as http://127.0.0.1:4318"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "http/protobuf or grpc"},
		{"OTEL_TRACES_EXPORTER", "zipkin", "otlp or none"},
		{"OTEL_TRACES_SAMPLER", "sometimes", "always_on, always_off or traceidratio, each also with parentbased_ before it"},
		{"OTEL_TRACES_SAMPLER_ARG", "1%", "a number from 0 to 1, such as 0.01"},
		{"OTEL_TRACES_SAMPLER_ARG", "NaN", "a number from 0 to 1, such as 0.01"},
	} {
		environ := []string{row.name, row.value, endpointKey, "http://c", "OTEL_TRACES_SAMPLER", "traceidratio"}
		_, err := Start(t.Context(), Program{Getenv: environment(environ...)}, nil)
		var wrong *fault.InvalidError
		require.ErrorAs(t, err, &wrong, row.value)
		require.Equal(t, row.name, wrong.Field)
		require.Equal(t, row.want, wrong.Want)
	}
}

// What links to a sampled span is sampled, unless nothing is to be.
func TestLinksAreSampled(t *testing.T) {
	t.Parallel()
	linkTo := func(flags trace.TraceFlags) []trace.Link {
		return []trace.Link{{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags,
		})}}
	}
	for _, row := range []struct {
		sampler, ratio string
		flags          trace.TraceFlags
		want           sdk.SamplingDecision
	}{
		{"parentbased_traceidratio", "0", trace.FlagsSampled, sdk.RecordAndSample},
		{"traceidratio", "0", trace.FlagsSampled, sdk.RecordAndSample},
		{"parentbased_traceidratio", "0", 0, sdk.Drop},
		{"parentbased_traceidratio", "1", 0, sdk.RecordAndSample},
		{"always_off", "", trace.FlagsSampled, sdk.Drop},
		{"parentbased_always_off", "", trace.FlagsSampled, sdk.Drop},
		{"always_on", "", 0, sdk.RecordAndSample},
	} {
		s, on, err := read(environment(endpointKey, "http://c", "OTEL_TRACES_SAMPLER", row.sampler, "OTEL_TRACES_SAMPLER_ARG", row.ratio))
		require.NoError(t, err)
		require.True(t, on)
		got := s.sampler.ShouldSample(sdk.SamplingParameters{ParentContext: t.Context(), TraceID: trace.TraceID{255, 255}, Links: linkTo(row.flags)})
		require.Equal(t, row.want, got.Decision, "%+v", row)
	}
}
