package tracing

import (
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// linked samples a span that links to a sampled one, and leaves other spans to another sampler.
type linked struct{ others sdk.Sampler }

// ShouldSample decides about a new span.
func (l linked) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	for _, link := range p.Links {
		if link.SpanContext.IsSampled() {
			return sdk.SamplingResult{
				Decision:   sdk.RecordAndSample,
				Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState(),
			}
		}
	}
	return l.others.ShouldSample(p)
}

// Description names the sampler.
func (l linked) Description() string { return "Linked{" + l.others.Description() + "}" }
