package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// referenceLength is the length of a Reference.
const referenceLength = len(trace.TraceID{}) + len(trace.SpanID{})

// Reference returns what the record of a message keeps of the span of its submit: the trace
// and the span of ctx, 24 bytes; nil unless they are sampled.
func Reference(ctx context.Context) []byte {
	now := trace.SpanContextFromContext(ctx)
	if !now.IsSampled() || !now.IsValid() {
		return nil
	}
	kept := make([]byte, 0, referenceLength)
	of, span := now.TraceID(), now.SpanID()
	return append(append(kept, of[:]...), span[:]...)
}

// referred returns the span that a Reference names. It reports false for none, and for what a
// newer program may have kept instead.
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
