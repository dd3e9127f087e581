package tasks_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// traced is a story whose spans are recorded.
type traced struct {
	*story

	spans    *tracetest.SpanRecorder
	provider *sdk.TracerProvider
}

func tellTraced(t *testing.T, sampler sdk.Sampler, told func(*traced)) {
	t.Helper()
	tell(t, func(s *story) {
		spans := tracetest.NewSpanRecorder()
		provider := sdk.NewTracerProvider(sdk.WithSampler(sampler), sdk.WithSpanProcessor(spans))
		s.shared.TracerProvider = provider
		s.hook = tracing.Hook()
		s.Submitter = s.newSubmitter(submit.Options{Batch: true})
		told(&traced{story: s, spans: spans, provider: provider})
	})
}

// named returns the spans that have a name.
func (s *traced) named(name string) (found []sdk.ReadOnlySpan) {
	for _, span := range s.spans.Ended() {
		if span.Name() == name {
			found = append(found, span)
		}
	}
	return found
}

// one returns the only span that has a name.
func (s *traced) one(name string) sdk.ReadOnlySpan {
	s.Helper()
	found := s.named(name)
	require.Len(s, found, 1, name)
	return found[0]
}

func about(span sdk.ReadOnlySpan) map[attribute.Key]string {
	all := make(map[attribute.Key]string)
	for _, a := range span.Attributes() {
		all[a.Key] = a.Value.String()
	}
	return all
}

// A delivery has a trace of its own, which links to that of the submit, at each attempt and
// after a move. No span has what is personal.
func TestADeliveryLinksToItsSubmit(t *testing.T) {
	tellTraced(t, sdk.AlwaysSample(), func(s *traced) {
		s.recorder.Script(notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, RetryAfter: time.Second})
		s.work()
		ctx, caller := s.provider.Tracer("caller").Start(s.Context(), "caller")
		m := s.message("order-17", time.Minute)
		m.User, m.Title, m.Body, m.Category = "wilhelmina", "Hello Wilma", "A secret", "orders"
		_, err := s.Submit(ctx, m)
		require.NoError(s, err)
		caller.End()
		again, err := s.Submit(ctx, m)
		require.NoError(s, err)
		require.True(s, again.Replayed, "a request is the same one in another trace")
		moved, err := s.Move(s.Context(), "wilhelmina", "order-17", s.began.Add(2*time.Minute))
		require.NoError(s, err)
		require.Equal(s, "moved", moved.Outcome)
		s.until(3 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 2)

		submits := s.named("submit sl:push")
		require.Len(s, submits, 2)
		submit := submits[0]
		require.Equal(s, trace.SpanKindProducer, submit.SpanKind())
		require.Equal(s, caller.SpanContext().SpanID(), submit.Parent().SpanID())
		require.Equal(s, map[attribute.Key]string{
			"messaging.system": "sendlimit", "messaging.operation.name": "submit", "messaging.operation.type": "send",
			"messaging.destination.name": "sl:push", "messaging.message.id": "order-17",
			"sendlimit.outcome": "accepted", "sendlimit.category": "orders", "sendlimit.send_at": "2000-01-01T00:01:00Z",
		}, about(submit))
		require.Equal(s, submit.SpanContext().SpanID(), s.named("hand_over sl:push")[0].Parent().SpanID())

		deliveries := s.named("deliver sl:push")
		require.Len(s, deliveries, 2)
		for i, delivery := range deliveries {
			require.Equal(s, trace.SpanKindConsumer, delivery.SpanKind())
			require.False(s, delivery.Parent().IsValid())
			require.NotEqual(s, submit.SpanContext().TraceID(), delivery.SpanContext().TraceID())
			require.Len(s, delivery.Links(), 1)
			require.Equal(s, submit.SpanContext().SpanID(), delivery.Links()[0].SpanContext.SpanID())
			require.Equal(s, submit.SpanContext().TraceID(), delivery.Links()[0].SpanContext.TraceID())
			require.Equal(s, strconv.Itoa(i+1), about(delivery)["sendlimit.attempt"])
			var below []string
			for _, span := range s.spans.Ended() {
				if span.Parent().SpanID() == delivery.SpanContext().SpanID() {
					below = append(below, span.Name())
				}
			}
			slices.Sort(below)
			require.Subset(s, below, []string{"claim sl:push", "push webhook", "settle sl:push"})
		}
		require.Equal(s, "retried", about(deliveries[0])["sendlimit.outcome"])
		require.Equal(s, "unavailable", about(deliveries[0])["error.type"])
		require.Equal(s, "delivered", about(deliveries[1])["sendlimit.outcome"])
		require.NotEmpty(s, s.named("EVALSHA message/settle"))
		s.showsNobody("wilhelmina", "Wilma", "secret", "{p")
	})
}

// showsNobody requires that no span has any of the words.
func (s *traced) showsNobody(words ...string) {
	s.Helper()
	require.NotEmpty(s, s.spans.Ended())
	for _, span := range s.spans.Ended() {
		text := span.Name() + span.Status().Description + fmt.Sprint(about(span), span.Events())
		for _, word := range words {
			require.NotContains(s, text, word)
		}
	}
}

// What is not sampled leaves nothing in the record, and its delivery no link.
func TestARecordKeepsNoTraceThatIsNotSampled(t *testing.T) {
	tellTraced(t, sdk.NeverSample(), func(s *traced) {
		s.work()
		s.accepted(s.message("a", 5*time.Second))
		for _, key := range s.server.Keys() {
			if s.server.Type(key) == "hash" {
				require.Empty(s, s.server.HGet(key, "L"))
			}
		}
		s.until(7 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
		require.Empty(s, s.spans.Ended())
	})
}

// The messages of a batch are its children, up to a number: a later one links to the batch.
func TestABatchHasFewSpans(t *testing.T) {
	tellTraced(t, sdk.AlwaysSample(), func(s *traced) {
		s.work()
		tracer := tracing.New(s.provider, "sl:push")
		ctx, end := tracer.Batch(s.Context())
		const messages = tracing.SpansOfBatch + 2
		for i := range messages {
			m := s.message(fmt.Sprint("m", i), time.Minute)
			m.User = fmt.Sprint("u", i)
			_, err := s.Submit(ctx, m)
			require.NoError(s, err)
		}
		end()
		s.until(2 * time.Minute)
		batch := s.one("submit batch sl:push")
		require.Equal(s, strconv.Itoa(messages), about(batch)["messaging.batch.message_count"])
		submits := s.named("submit sl:push")
		require.Len(s, submits, tracing.SpansOfBatch)
		for _, submit := range submits {
			require.Equal(s, batch.SpanContext().SpanID(), submit.Parent().SpanID())
			require.Equal(s, "create", about(submit)["messaging.operation.type"])
		}
		toBatch := 0
		deliveries := s.named("deliver sl:push")
		require.Len(s, deliveries, messages)
		for _, delivery := range deliveries {
			if delivery.Links()[0].SpanContext.SpanID() == batch.SpanContext().SpanID() {
				toBatch++
			}
		}
		require.Equal(s, 2, toBatch)
	})
}

// A refusal has a span that says why; what is dropped has one of its claim.
func TestRefusalsAndDropsHaveSpans(t *testing.T) {
	tellTraced(t, sdk.AlwaysSample(), func(s *traced) {
		m := s.message("a", 10*time.Second)
		m.ExpiresAt = s.began.Add(20 * time.Second)
		s.accepted(m)
		_, err := s.Submit(s.Context(), s.message("b", 11*time.Second))
		require.NoError(s, err)
		refused := about(s.named("submit sl:push")[1])
		require.Equal(s, "refused", refused["sendlimit.outcome"])
		require.Equal(s, "send_limit", refused["sendlimit.code"])
		time.Sleep(time.Minute)
		s.work()
		s.until(2 * time.Minute)
		claim := about(s.one("claim sl:push"))
		require.Equal(s, "dropped", claim["sendlimit.outcome"])
		require.Equal(s, "expired", claim["sendlimit.reason"])
	})
}
