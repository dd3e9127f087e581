package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// referenceLength is the length of a Reference.
const referenceLength = len(trace.TraceID{}) + len(trace.SpanID{})

// Reference returns the ids of the trace and the span of ctx, 24 bytes, for the record of a
// message; nil unless they are sampled.
func Reference(ctx context.Context) []byte {
	now := trace.SpanContextFromContext(ctx)
	if !now.IsSampled() || !now.IsValid() {
		return nil
	}
	kept := make([]byte, 0, referenceLength)
	of, span := now.TraceID(), now.SpanID()
	return append(append(kept, of[:]...), span[:]...)
}

// referred returns the span of a Reference. It reports false for none, and for an unknown form, as
// of a newer program.
func referred(kept []byte) (trace.SpanContext, bool) {
	if len(kept) != referenceLength {
		return trace.SpanContext{}, false
	}
	c := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled, Remote: true}
	copy(c.TraceID[:], kept)
	copy(c.SpanID[:], kept[len(c.TraceID):])
	found := trace.NewSpanContext(c)
	return found, found.IsValid()
}
