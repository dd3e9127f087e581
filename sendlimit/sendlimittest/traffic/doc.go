// Package traffic provides a year of sends for tests and benchmarks.
//
// Load reads real traffic if there is a file of it, and otherwise generates traffic of
// the same shape. A Trace says which of the two it is.
//
// The package does not know the models; sendlimittest.Judge returns the model's
// decisions about a Trace.
package traffic
