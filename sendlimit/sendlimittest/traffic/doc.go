// Package traffic provides a year of sends for tests and benchmarks.
//
// Load reads real traffic where there is a file of it, and generates traffic
// of the same shape otherwise. A Trace says which of the two it is.
//
// The package does not know the models; sendlimittest.Judge gives the model's
// decisions about a Trace.
package traffic
