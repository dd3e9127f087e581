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
