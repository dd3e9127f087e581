// Package tracing sends the spans of a program to an OpenTelemetry collector. It is the only
// package that knows the SDK; what spans there are is in tasks/tracing.
//
// It is off unless OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set.
// All settings are the variables of the OpenTelemetry specification. The exporter reads the
// ones for itself: headers, certificates, compression and timeouts.
//
// A delivery is sampled if its submit was, whatever the sampler says of new traces: a link to
// a trace that nobody kept is worth little.
//
// A collector that is away costs nothing but spans: they wait in a queue of a fixed length,
// and what does not fit is dropped. An outage is logged once when it begins and once when it
// is over.
package tracing
