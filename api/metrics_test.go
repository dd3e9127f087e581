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
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// measured serves a page of metrics.
func measured(o *api.Options) {
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) })
}

func TestMetricsAreForOperators(t *testing.T) {
	t.Parallel()
	metrics := request{method: http.MethodGet, target: "/metrics"}
	open, r := newRig(t, measured), newRig(t, measured, locked)
	require.Equal(t, "up 1\n", string(open.send(metrics).body), "where no key is asked for")
	require.Equal(t, fault.CodeUnauthorized, r.problem(http.StatusUnauthorized, r.send(metrics)).Code)
	require.Equal(t, http.StatusUnauthorized, r.with("sk_wrong", metrics).status)
	for _, scope := range []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead} {
		refused := r.with(r.key("own", scope), metrics)
		require.Equal(t, fault.CodeForbidden, r.problem(http.StatusForbidden, refused).Code, "they tell of other accounts")
	}
	secret := r.key("own", accounts.ScopeAdmin)
	require.Equal(t, "up 1\n", string(r.with(secret, metrics).body))
	require.Equal(t, http.StatusOK, r.with(secret, request{method: http.MethodHead, target: "/metrics"}).status)
	require.Equal(t, http.StatusMethodNotAllowed, r.with(secret, request{method: http.MethodPost, target: "/metrics"}).status)
	require.Equal(t, http.StatusNotFound, newRig(t).send(metrics).status, "there are none")
}

// Metrics are looked at when all is not well.
func TestMetricsOutlastTheStore(t *testing.T) {
	t.Parallel()
	var c clock
	r := newRig(t, measured, locked, func(o *api.Options) { o.Now = c.now })
	metrics := request{method: http.MethodGet, target: "/metrics"}
	secret, removed, unseen := r.key("own", accounts.ScopeAdmin), r.key("other", accounts.ScopeAdmin), r.key("other", accounts.ScopeAdmin)
	require.Equal(t, http.StatusOK, r.with(secret, metrics).status)
	require.Equal(t, http.StatusOK, r.with(removed, metrics).status)
	_, err := r.accounts.RemoveKey(t.Context(), "other", removed[3:11], nil)
	require.NoError(t, err)
	c.passes(2 * time.Second)
	require.Equal(t, http.StatusUnauthorized, r.with(removed, metrics).status)
	r.store.Close()
	require.Equal(t, http.StatusOK, r.with(secret, metrics).status)
	for _, other := range []string{removed, unseen, "sk_wrong"} {
		require.Equal(t, http.StatusServiceUnavailable, r.with(other, metrics).status)
	}
	look := request{method: http.MethodGet, target: "/v1/users/alice/usage"}
	require.Equal(t, http.StatusServiceUnavailable, r.with(secret, look).status, "the metrics alone")
	c.passes(time.Hour)
	require.Equal(t, http.StatusServiceUnavailable, r.with(secret, metrics).status, "not for ever")
}

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
