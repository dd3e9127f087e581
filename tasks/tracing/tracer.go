package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation.
const scope = "github.com/sendlimit/sendlimiter"

// system is the messaging.system of all spans.
const system = "sendlimit"

// Tracer starts root spans. The zero value starts none. It is safe for concurrent use.
type Tracer struct {
	tracer      trace.Tracer // nil for none
	destination string
	// Constant parts of the spans, so that spans that are not sampled cost little.
	submit, batch, deliver, handOver string // names
	submitOptions, requestOptions    []trace.SpanStartOption
	deliverOptions                   []trace.SpanStartOption
}

// New returns a Tracer for messages of a destination, the name of the queue. A nil provider gives
// the zero Tracer.
func New(provider trace.TracerProvider, destination string) Tracer {
	if provider == nil {
		return Tracer{}
	}
	return Tracer{
		tracer: provider.Tracer(scope), destination: destination,
		submit: named("submit", destination), batch: named("submit batch", destination),
		deliver: named("deliver", destination), handOver: named(handOver, destination),
		submitOptions:  []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindProducer)},
		requestOptions: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)},
		deliverOptions: []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer)},
	}
}

// named returns the name of a span by the semantic conventions for messaging.
func named(operation, of string) string {
	if of == "" {
		return operation
	}
	return operation + " " + of
}

// Span is a running span. The zero value is none.
type Span struct {
	span trace.Span // nil unless it is recorded
}

// Recording reports whether the span is recorded.
func (s Span) Recording() bool { return s.span != nil }

// Set sets attributes. Compute them only for a span that is Recording.
func (s Span) Set(attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(attributes...)
	}
}

// setIf sets an attribute under a condition.
func (s Span) setIf(condition bool, a attribute.KeyValue) {
	if condition {
		s.Set(a)
	}
}

// Fail marks the span as failed, for one of a fixed set of reasons.
func (s Span) Fail(reason string) {
	if s.span != nil {
		s.span.SetStatus(codes.Error, "")
		s.span.SetAttributes(semconv.ErrorTypeKey.String(reason))
	}
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// started returns a started span, none if it is not recorded.
func started(span trace.Span) Span {
	if !span.IsRecording() {
		return Span{}
	}
	return Span{span: span}
}

// Of returns the span of ctx.
func Of(ctx context.Context) Span { return started(trace.SpanFromContext(ctx)) }

// child starts a span below that of ctx, if that one is recorded.
func child(
	ctx context.Context, operation, of string, kind trace.SpanKind, more ...trace.SpanStartOption,
) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, named(operation, of), append(more, trace.WithSpanKind(kind))...)
	return ctx, started(span)
}

// operation returns the attributes of an operation on a destination. An empty kind is left out.
func operation(name, destination, kind string) []attribute.KeyValue {
	attributes := []attribute.KeyValue{
		semconv.MessagingSystemKey.String(system), semconv.MessagingOperationName(name),
		semconv.MessagingDestinationName(destination),
	}
	if kind != "" {
		attributes = append(attributes, semconv.MessagingOperationTypeKey.String(kind))
	}
	return attributes
}

// The values of messaging.operation.type.
const (
	create  = "create"
	send    = "send"
	receive = "receive"
	process = "process"
	settle  = "settle"
)
