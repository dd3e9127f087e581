package webhook_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// The receiver gets the trace of the delivery, sampled or not, beside a signature that holds at
// each attempt. Without a trace it gets none.
func TestTheReceiverGetsTheTrace(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	var got []http.Header
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || verifier.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		got = append(got, r.Header)
	}))
	t.Cleanup(receiver.Close)
	n, err := webhook.New(webhook.Config{URL: receiver.URL + "/token", Secret: secret, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })

	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	sampled, span := provider.Tracer("test").Start(t.Context(), "deliver")
	state, err := trace.ParseTraceState("shop=1")
	require.NoError(t, err)
	other := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state})
	note := notifier.Notification{ID: "a", User: "wilhelmina", Title: "t", Attempt: 1, IdempotencyKey: "key", SendAt: time.Now()}
	require.Equal(t, notifier.Delivered, n.Notify(sampled, note).Status)
	require.Equal(t, notifier.Delivered, n.Notify(trace.ContextWithSpanContext(t.Context(), other), note).Status)
	require.Equal(t, notifier.Delivered, n.Notify(t.Context(), note).Status)
	span.End()

	ended := spans.Ended()
	require.Len(t, ended, 2)
	request := ended[0]
	require.Equal(t, "POST", request.Name())
	require.Equal(t, span.SpanContext().SpanID(), request.Parent().SpanID())
	require.Equal(t, "00-"+request.SpanContext().TraceID().String()+"-"+request.SpanContext().SpanID().String()+"-01", got[0].Get("Traceparent"))
	require.Equal(t, "00-01000000000000000000000000000000-0200000000000000-00", got[1].Get("Traceparent"))
	require.Equal(t, "shop=1", got[1].Get("Tracestate"))
	require.Empty(t, got[2].Get("Traceparent"))
	for _, a := range request.Attributes() {
		require.NotContains(t, a.Value.String(), "token")
		require.NotContains(t, a.Value.String(), "wilhelmina")
	}
}
