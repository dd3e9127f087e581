package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Program names the program that writes spans.
type Program struct {
	Name    string // the service.name, unless the environment has one
	Version string
	Getenv  func(string) string
}

// Tracing is what Start returns. Nil means that tracing is off.
type Tracing struct{ provider *sdk.TracerProvider }

// Start starts tracing if the environment names a collector; otherwise it returns nil. It does not
// connect, and logs the collector's host. The error is a *fault.InvalidError. Call Stop.
//
// The SDK has one logger for a process, which Start sets.
func Start(ctx context.Context, p Program, logger *slog.Logger) (*Tracing, error) {
	s, on, err := read(p.Getenv)
	if !on {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	logger = logger.With("component", "tracing")
	otel.SetLogger(logr.FromSlogHandler(logger.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.DebugContext(ctx, "the SDK of OpenTelemetry has an error", "error", withoutURL(err))
	}))
	exporter, err := newExporter(ctx, s)
	if err != nil {
		return nil, err
	}
	name := p.Name
	if s.name != "" {
		name = s.name
	}
	// An error in OTEL_RESOURCE_ATTRIBUTES does not affect the rest.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName(name), semconv.ServiceVersion(p.Version)), resource.WithFromEnv())
	if err != nil {
		logger.WarnContext(ctx, "OTEL_RESOURCE_ATTRIBUTES is partly invalid", "error", err)
	}
	to, err := url.Parse(s.endpoint)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the address of the collector: %w", err), exporter.Shutdown(ctx))
	}
	logger.InfoContext(ctx, "tracing is on", "collector", to.Host, "sampler", s.sampling) // the rest of the address may be a secret
	return &Tracing{sdk.NewTracerProvider(sdk.WithSampler(s.sampler), sdk.WithResource(about),
		sdk.WithBatcher(&telling{SpanExporter: exporter, logger: logger}))}, nil
}

func newExporter(ctx context.Context, s settings) (*otlptrace.Exporter, error) {
	client := otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(s.endpoint))
	if s.grpc {
		client = otlptracegrpc.NewClient(otlptracegrpc.WithEndpointURL(s.endpoint))
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("preparing to send traces: %w", err)
	}
	return exporter, nil
}

// Provider returns the provider of spans, nil if tracing is off.
func (t *Tracing) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Stop sends the remaining spans, within a time.
func (t *Tracing) Stop(ctx context.Context, within time.Duration) {
	if t == nil {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer done()
	// The exporter has logged the error.
	_ = t.provider.Shutdown(ctx)
}
