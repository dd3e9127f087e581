package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// SpansOfBatch is how many messages of a batch have their own span. The deliveries of later ones
// link to the span of the batch, so that the trace of a long batch stays small.
const SpansOfBatch = 128

type batch struct {
	span     Span
	messages atomic.Int64
}

type batchKey struct{}

// Batch starts the span of a stream of submits with the returned context. Call end after the last
// one. If the batch is not sampled, its submits are not either.
func (t Tracer) Batch(ctx context.Context) (_ context.Context, end func()) {
	if t.tracer == nil {
		return ctx, func() {}
	}
	ctx, span := t.tracer.Start(ctx, t.batch, trace.WithSpanKind(trace.SpanKindClient))
	b := &batch{span: started(span)}
	if b.span.Recording() {
		b.span.Set(operation("submit batch", t.destination, send)...)
	}
	return context.WithValue(ctx, batchKey{}, b), func() {
		if b.span.Recording() {
			b.span.Set(semconv.MessagingBatchMessageCount(int(b.messages.Load())))
			b.span.End()
		}
	}
}

// Submit starts the span of a submit. Pass the returned context to Reference.
func (t Tracer) Submit(ctx context.Context) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	kind := send
	if b, ok := ctx.Value(batchKey{}).(*batch); ok {
		if !b.span.Recording() || b.messages.Add(1) > SpansOfBatch {
			return ctx, Span{}
		}
		kind = create
	}
	ctx, span := t.tracer.Start(ctx, t.submit, t.submitOptions...)
	s := started(span)
	if s.Recording() {
		s.Set(operation("submit", t.destination, kind)...)
	}
	return ctx, s
}

// Submitted is the result of a submit.
type Submitted struct {
	ID       string
	Outcome  string
	Code     string // "" if it was accepted
	Category string // "" for none
	SendAt   time.Time
	Replayed bool
	Shifted  bool
}

// EndSubmit ends the span of a submit with its result.
func (s Span) EndSubmit(what Submitted) {
	if s.span == nil {
		return
	}
	s.Set(attribute.String(outcome, what.Outcome))
	s.setIf(what.ID != "", semconv.MessagingMessageID(what.ID))
	s.setIf(what.Code != "", attribute.String("sendlimit.code", what.Code))
	s.setIf(what.Category != "", attribute.String(category, what.Category))
	s.setIf(!what.SendAt.IsZero(), attribute.String("sendlimit.send_at", what.SendAt.UTC().Format(time.RFC3339Nano)))
	s.setIf(what.Replayed, attribute.Bool("sendlimit.replayed", true))
	s.setIf(what.Shifted, attribute.Bool("sendlimit.shifted", true))
	s.End()
}

// Attributes of several spans.
const (
	outcome  = "sendlimit.outcome"
	category = "sendlimit.category"
	reason   = "sendlimit.reason"
)
