package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// SpansOfBatch is how many messages of a batch have a span each. The delivery of a later one
// links to the span of the batch, so that a trace stays small however long the batch is.
const SpansOfBatch = 128

// batch is a batch that is recorded, or one that is not.
type batch struct {
	span     Span
	messages atomic.Int64
}

type batchKey struct{}

// Batch starts the span of a stream of submits with the returned context. Call end when it is
// over. Submits of a batch that is not sampled are not sampled.
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

// Submit starts the span of a submit. The returned context is what Reference keeps.
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

// Submitted is what became of a submit.
type Submitted struct {
	ID       string
	Outcome  string
	Code     string // "" if it was accepted
	Category string // "" for none
	SendAt   time.Time
	Replayed bool
	Shifted  bool
}

// EndSubmit ends the span of a submit that got an answer.
func (s Span) EndSubmit(what Submitted) {
	if s.span == nil {
		return
	}
	s.Set(attribute.String(outcome, what.Outcome))
	if what.ID != "" {
		s.Set(semconv.MessagingMessageID(what.ID))
	}
	if what.Code != "" {
		s.Set(attribute.String("sendlimit.code", what.Code))
	}
	if what.Category != "" {
		s.Set(attribute.String(category, what.Category))
	}
	if !what.SendAt.IsZero() {
		s.Set(attribute.String("sendlimit.send_at", what.SendAt.UTC().Format(time.RFC3339Nano)))
	}
	if what.Replayed {
		s.Set(attribute.Bool("sendlimit.replayed", true))
	}
	if what.Shifted {
		s.Set(attribute.Bool("sendlimit.shifted", true))
	}
	s.End()
}

// Attributes of several spans.
const (
	outcome  = "sendlimit.outcome"
	category = "sendlimit.category"
	reason   = "sendlimit.reason"
)
