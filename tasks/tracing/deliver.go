package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Claimed is a message that was claimed to be delivered.
type Claimed struct {
	ID        string
	Reference []byte // of its submit; nil for none
	Category  string // "" for none
	Attempt   int
	Late      time.Duration
	TakenOver bool      // from a delivery that was not settled
	Asked     time.Time // when the claim was sent
	Answered  time.Time // when its answer came
}

// Deliver starts the span of a delivery at the time of its claim, in its own trace, with a link to
// the submit, which a sampler sees. The claim is an ended child.
func (t Tracer) Deliver(ctx context.Context, c Claimed) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	options := make([]trace.SpanStartOption, 0, len(t.deliverOptions)+2)
	options = append(append(options, t.deliverOptions...), trace.WithTimestamp(c.Asked))
	if submitted, some := referred(c.Reference); some {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: submitted}))
	}
	ctx, span := t.tracer.Start(ctx, t.deliver, options...)
	s := started(span)
	if !s.Recording() {
		return ctx, s
	}
	s.Set(operation("deliver", t.destination, process)...)
	s.Set(semconv.MessagingMessageID(c.ID), attribute.Int("sendlimit.attempt", c.Attempt),
		attribute.Int64("sendlimit.late_ms", c.Late.Milliseconds()))
	s.setIf(c.Category != "", attribute.String(category, c.Category))
	s.setIf(c.TakenOver, attribute.Bool("sendlimit.taken_over", true))
	_, claim := t.tracer.Start(ctx, named("claim", t.destination), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(c.Asked), trace.WithAttributes(operation("claim", t.destination, receive)...))
	claim.End(trace.WithTimestamp(c.Answered))
	return ctx, s
}

// Unsent writes the span of a claim without a delivery, and why.
func (t Tracer) Unsent(ctx context.Context, c Claimed, verdict, why string) {
	if t.tracer == nil {
		return
	}
	_, span := t.tracer.Start(ctx, named("claim", t.destination), trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(c.Asked))
	s := started(span)
	if !s.Recording() {
		return
	}
	s.Set(operation("claim", t.destination, receive)...)
	s.Set(semconv.MessagingMessageID(c.ID), attribute.String(outcome, verdict))
	s.setIf(why != "", attribute.String(reason, why))
	s.span.End(trace.WithTimestamp(c.Answered))
}

// Push starts the span of a request to the provider of a channel, below a delivery.
func Push(ctx context.Context, channel string, began time.Time) (context.Context, Span) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, Span{} // costs no options
	}
	ctx, s := child(ctx, "push", channel, trace.SpanKindInternal, trace.WithTimestamp(began))
	if s.Recording() {
		s.Set(attribute.String("sendlimit.channel", channel))
	}
	return ctx, s
}

// Settle starts the span of storing a result, below a delivery.
func (t Tracer) Settle(ctx context.Context) (context.Context, Span) {
	ctx, s := child(ctx, "settle", t.destination, trace.SpanKindClient)
	if s.Recording() {
		s.Set(operation("settle", t.destination, settle)...)
	}
	return ctx, s
}

// Result sets the result of a delivery or a push. why is one of a fixed set of reasons, "" for none.
func (s Span) Result(what, why string, failed bool) {
	if s.span == nil {
		return
	}
	s.Set(attribute.String(outcome, what))
	s.setIf(why != "", attribute.String(reason, why))
	if failed {
		s.Fail(orOther(why))
	}
}

// orOther returns why, or the name of the semantic conventions for an unnamed error.
func orOther(why string) string {
	if why == "" {
		return semconv.ErrorTypeOther.Value.AsString()
	}
	return why
}
