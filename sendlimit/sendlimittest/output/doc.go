// Package output keeps what a running program writes, for tests that read it meanwhile.
package output
