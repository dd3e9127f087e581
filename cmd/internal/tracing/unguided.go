package tracing

import (
	"crypto/rand"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// unguided samples a span whose parent comes from a traceparent as if it had no parent: any caller
// can send one with a trace id of its choice. The span still joins the trace.
type unguided struct{ sdk.Sampler }

// ShouldSample decides about a new span.
func (u unguided) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if trace.SpanContextFromContext(p.ParentContext).IsRemote() {
		_, _ = rand.Read(p.TraceID[:]) // never fails
	}
	return u.Sampler.ShouldSample(p)
}
