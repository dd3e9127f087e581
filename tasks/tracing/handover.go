package tracing

import (
	"context"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const handOver = "hand_over"

// HandOver starts the span of a pass that hands messages over to the queue.
func (t Tracer) HandOver(ctx context.Context) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, t.handOver)
	s := started(span)
	if s.Recording() {
		s.Set(operation(handOver, t.destination, "")...)
	}
	return ctx, s
}

// HandOverOne starts the span of a message that is put into a queue at once, below that of ctx.
func HandOverOne(ctx context.Context, destination string) (context.Context, Span) {
	ctx, s := child(ctx, handOver, destination, trace.SpanKindInternal)
	if s.Recording() {
		s.Set(operation(handOver, destination, "")...)
	}
	return ctx, s
}

// EndHandOver ends the span of a pass, with the number of messages that it handed over.
func (s Span) EndHandOver(messages int) {
	if s.span == nil {
		return
	}
	s.Set(semconv.MessagingBatchMessageCount(messages))
	s.End()
}
