package exchange

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sendlimit/sendlimiter/notifier"
)

// trace starts the span of a request below a recorded span of ctx, and adds the trace to the
// headers if Propagate is set. The span has the provider's host, but not the path, which may
// contain a device's token.
func (c Client) trace(ctx context.Context, request *http.Request) (context.Context, trace.Span) {
	span := trace.SpanFromContext(ctx)
	if recorded := span.IsRecording(); recorded {
		ctx, span = span.TracerProvider().Tracer("github.com/sendlimit/sendlimiter/notifier").Start(ctx, request.Method,
			trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(requestAttributes(request)...))
	} else {
		span = nil
	}
	if c.Propagate {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	}
	return ctx, span
}

func requestAttributes(request *http.Request) []attribute.KeyValue {
	attributes := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(request.Method), semconv.ServerAddress(request.URL.Hostname()),
	}
	if port, err := strconv.Atoi(request.URL.Port()); err == nil {
		attributes = append(attributes, semconv.ServerPort(port))
	}
	return attributes
}

// endTrace ends the span of a request; nil is none. The status is zero without an answer.
func endTrace(span trace.Span, status int, result notifier.Result) {
	if span == nil {
		return
	}
	if status != 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	}
	if status == 0 {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(semconv.ErrorTypeKey.String(string(result.Reason)))
	} else if status >= http.StatusBadRequest {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
	}
	span.End()
}
