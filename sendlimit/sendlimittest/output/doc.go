// Package output keeps the output of a running program, for tests that read it meanwhile.
package output
