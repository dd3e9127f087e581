// Package metrics counts what becomes of messages and notices, for Prometheus. All
// methods of a nil *Metrics do nothing.
package metrics
