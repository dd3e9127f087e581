package tracing

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Request starts the span of a request to a server, with the parent of the request's traceparent,
// if it has one. The span does not show the path, which contains users, or the caller.
func (t Tracer) Request(ctx context.Context, r *http.Request) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	if len(r.Header["Traceparent"]) > 0 {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	ctx, span := t.tracer.Start(ctx, method(r.Method), t.requestOptions...)
	return ctx, started(span)
}

// EndRequest ends the span of a request to a route, such as "/v1/users/{user}", "" for none.
// A status of zero means that no answer was written.
func (s Span) EndRequest(verb, route string, status int) {
	if s.span == nil {
		return
	}
	verb = method(verb)
	s.Set(semconv.HTTPRequestMethodKey.String(verb))
	if route != "" {
		s.span.SetName(verb + " " + route)
		s.Set(semconv.HTTPRoute(route))
	}
	if status != 0 {
		s.Set(semconv.HTTPResponseStatusCode(status))
	}
	if status == 0 || status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
		s.Set(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
	}
	s.End()
}

// method returns an HTTP method as the semantic conventions spell it: a caller may send any text.
func method(verb string) string {
	switch verb {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return verb
	default:
		return semconv.HTTPRequestMethodOther.Value.AsString()
	}
}
