package integration_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// traces is a collector that keeps what it gets by OTLP over HTTP.
type traces struct {
	*httptest.Server

	mu       sync.Mutex
	services map[string][]*spans.Span
	raw      []byte
}

func newTraces(t *testing.T) *traces {
	t.Helper()
	c := &traces{services: make(map[string][]*spans.Span)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw = append(c.raw, body...)
		for _, resource := range sent.GetResourceSpans() {
			service := ""
			for _, a := range resource.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					service = a.GetValue().GetStringValue()
				}
			}
			for _, scope := range resource.GetScopeSpans() {
				c.services[service] = append(c.services[service], scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// wait waits for a span of a service.
func (c *traces) wait(t *testing.T, service, name string) (found *spans.Span) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, span := range c.services[service] {
			if span.GetName() == name {
				found = span
			}
		}
		return found != nil
	}, time.Minute, 20*time.Millisecond, "no span %q of %s", name, service)
	return found
}

// Two programs send their spans to a collector: the delivery of one links to the submit of the
// other, and the receiver is told the trace of the delivery.
func TestTracesOfProgramsReachACollector(t *testing.T) {
	t.Parallel()
	programs := buildPrograms(t)
	to := newTraces(t)
	told := make(chan http.Header, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header }))
	t.Cleanup(receiver.Close)
	environ := []string{
		"REDIS_URL=" + redistest.Shared(t).URL(), "OTEL_EXPORTER_OTLP_ENDPOINT=" + to.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
	}
	w := programs.worker(t, environ, "--push-url", receiver.URL+"/secret-path")
	require.Equal(t, strings.TrimPrefix(to.URL, "http://"), w.logged(t, "tracing is on", "collector"))
	w.delivers(t)
	pushed := programs.enqueue(t, environ, "push", "--user", "wilhelmina", "--at", "now", "--title", "Hello Wilma", "--id", "order-17")
	require.Equal(t, 0, pushed.status, pushed.stderr)

	submit := to.wait(t, "sendlimit", "submit sl:push")
	delivery := to.wait(t, "sendlimit-worker", "deliver sl:push")
	require.Len(t, delivery.GetLinks(), 1)
	require.Equal(t, submit.GetTraceId(), delivery.GetLinks()[0].GetTraceId())
	require.Equal(t, submit.GetSpanId(), delivery.GetLinks()[0].GetSpanId())
	request := to.wait(t, "sendlimit-worker", "POST")
	require.Equal(t, delivery.GetTraceId(), request.GetTraceId())
	header := <-told
	require.Equal(t, "00-"+hex.EncodeToString(request.GetTraceId())+"-"+hex.EncodeToString(request.GetSpanId())+"-01", header.Get("Traceparent"))

	w.signal(t, os.Interrupt)
	<-w.ended
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, private := range []string{"wilhelmina", "Wilma", "secret-path"} {
		require.NotContains(t, string(to.raw), private)
	}
}

// A collector that is away is told once, and keeps up neither deliveries nor the end.
func TestDeliveriesGoOnWithoutACollector(t *testing.T) {
	t.Parallel()
	programs := buildPrograms(t)
	environ := []string{
		"REDIS_URL=" + redistest.Shared(t).URL(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=20",
	}
	w := programs.worker(t, environ, "--push-url", "log:")
	w.delivers(t)
	for _, user := range []string{"a", "b", "c"} {
		pushed := programs.enqueue(t, environ, "push", "--user", user, "--at", "now", "--title", "hello")
		require.Equal(t, 0, pushed.status, pushed.stderr)
		require.Eventually(t, func() bool { return strings.Contains(w.stdout.String(), `"user":"`+user+`"`) }, 20*time.Second, 10*time.Millisecond)
	}
	const outage = "the collector does not accept traces"
	w.logged(t, outage, "msg")
	w.signal(t, os.Interrupt)
	<-w.ended
	require.Equal(t, 0, w.command.ProcessState.ExitCode(), &w.stderr)
	require.Equal(t, 1, strings.Count(w.stderr.String(), outage), &w.stderr)
}
