// Package tracing sends the spans of a program to an OpenTelemetry collector. Only this package
// knows the SDK; tasks/tracing creates the spans.
// It is off unless OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set.
// All settings are the variables of the OpenTelemetry specification. The exporter reads the
// ones for itself: headers, certificates, compression and timeouts.
//
// A delivery is sampled if its submit was, whatever the sampler says about new traces: a link to a
// trace that was not kept is useless.
//
// If the collector is away, spans wait in a queue of a fixed length, and those that do not fit are
// dropped. Nothing else suffers. An outage is logged once at its start and once at its end.
package tracing
