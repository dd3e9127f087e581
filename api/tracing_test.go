package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// A request has a span below that of its caller, with its route and without its path. Requests
// of probes have none.
func TestRequestsHaveSpans(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	tracer := tracing.New(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)), "sl:push")
	r := newRig(t, func(o *api.Options) {
		o.Tracer = tracer
		o.Probes = map[string]http.Handler{"/healthz": http.NotFoundHandler()}
	})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ask := func(method, path, body, traceparent string) {
		request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		if traceparent != "" {
			request.Header.Set("Traceparent", traceparent)
		}
		response, err := r.http.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	ask(http.MethodPost, "/v1/messages", `{"user":"wilhelmina","send_at":"`+on22("11:11:11")+`","title":"secret"}`, parent)
	ask(http.MethodGet, "/v1/users/wilhelmina/messages", "", "nonsense")
	ask(http.MethodGet, "/v1/wilhelmina", "", "")
	ask(http.MethodGet, "/healthz", "", parent)

	require.Eventually(t, func() bool { return len(spans.Ended()) == 3 }, 5*time.Second, time.Millisecond)
	var names []string
	for _, span := range spans.Ended() {
		names = append(names, span.Name())
		text := fmt.Sprint(span.Name(), span.Attributes(), span.Status().Description)
		for _, private := range []string{"wilhelmina", "secret", "127.0.0.1"} {
			require.NotContains(t, text, private)
		}
	}
	require.ElementsMatch(t, []string{"POST /v1/messages", "GET /v1/users/{user}/messages", "GET"}, names)
	for _, span := range spans.Ended() {
		if span.Name() == "POST /v1/messages" {
			require.Equal(t, "0af7651916cd43dd8448eb211c80319c", span.SpanContext().TraceID().String())
			require.Equal(t, "b7ad6b7169203331", span.Parent().SpanID().String())
			require.Contains(t, fmt.Sprint(span.Attributes()), "201")
		} else {
			require.False(t, span.Parent().IsValid())
		}
	}
}
