package integration_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// collectorEnv names the program of testdata/collector. Its modules take minutes to build, so only
// "make collector" builds it.
const collectorEnv = "SENDLIMIT_TEST_COLLECTOR"

// realCollector is an OpenTelemetry collector that writes all spans to its log.
type realCollector struct {
	command *exec.Cmd
	address string
	log     *output.Buffer
}

func startCollector(t *testing.T, program, address string) realCollector {
	t.Helper()
	settings := filepath.Join(t.TempDir(), "collector.yaml")
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}
`, address), 0o600))
	c := realCollector{command: exec.CommandContext(t.Context(), program, "--config", settings), address: address, log: new(output.Buffer)}
	c.command.Stdout, c.command.Stderr = c.log, c.log
	require.NoError(t, c.command.Start())
	t.Cleanup(func() {
		_ = c.command.Process.Kill()
		_ = c.command.Wait() // it was killed
	})
	require.Eventually(t, func() bool { return strings.Contains(c.log.String(), "Everything is ready") },
		time.Minute, 50*time.Millisecond, "%s", c.log)
	return c
}

// span waits for a span, and returns its trace and the trace of its link, "" for none.
func (c realCollector) span(t *testing.T, name string) (trace, link string) {
	t.Helper()
	words := regexp.MustCompile(`(?s)Span #\d+\n    Trace ID       : (\w+)\n(?:[^\n]*\n){2}    Name           : ` + regexp.QuoteMeta(name) + `\n(.*?)(?:Span #|ResourceSpans|$)`)
	require.Eventually(t, func() bool {
		found := words.FindStringSubmatch(c.log.String())
		if found == nil {
			return false
		}
		trace = found[1]
		if linked := regexp.MustCompile(`SpanLink #0\n\s+-> Trace ID: (\w+)`).FindStringSubmatch(found[2]); linked != nil {
			link = linked[1]
		}
		return true
	}, time.Minute, 50*time.Millisecond, "no span %q in %s", name, c.log)
	return trace, link
}

// The documented settings send spans to a real collector: the delivery links to its submit. A collector
// that hangs or is away delays no delivery, and gets spans again once it is back.
func TestARealCollectorGetsTheTraces(t *testing.T) {
	program := os.Getenv(collectorEnv)
	if program == "" {
		t.Skip(collectorEnv + " names no collector: run make collector")
	}
	t.Parallel()
	programs := buildPrograms(t)
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	collector := startCollector(t, program, address)
	environ := []string{"REDIS_URL=" + redistest.Shared(t).URL(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address, "OTEL_BSP_SCHEDULE_DELAY=50"}
	w := programs.worker(t, environ, "--push-url", "log:")
	w.delivers(t)
	push := func(user string) {
		t.Helper()
		began := time.Now()
		pushed := programs.enqueue(t, environ, "push", "--user", user, "--at", "now", "--title", "hello")
		require.Equal(t, 0, pushed.status, pushed.stderr)
		require.Eventually(t, func() bool { return strings.Contains(w.stdout.String(), `"user":"`+user+`"`) }, time.Minute, 5*time.Millisecond)
		require.Less(t, time.Since(began), 10*time.Second, "it waits for no collector")
	}
	push("a")
	submit, _ := collector.span(t, "submit sl:push")
	_, link := collector.span(t, "deliver sl:push")
	require.Equal(t, submit, link)

	require.NoError(t, collector.command.Process.Signal(syscall.SIGSTOP))
	push("b")
	require.NoError(t, collector.command.Process.Kill())
	_ = collector.command.Wait() // it was killed
	push("c")
	w.logged(t, "the collector does not accept traces", "msg")
	again := startCollector(t, program, address)
	push("d")
	again.span(t, "deliver sl:push")
}
