// Lint checks the Go code: the analyzers of vet and of staticcheck, a few others that find faults,
// and our own rules. go vet runs it, and caches the results for a package in Go's build cache until
// it changes:
//
//	go build -C tools -buildvcs=false -o ../bin/lint ./lint
//	go vet -vettool=bin/lint ./...
//
// An exception is a comment on the line, on the first line of the code that it is about, or above
// that. It names the analyzer and gives the reason:
//
//	local := time.Now //nolint:names // measures calls, judges nothing
//
// An exception that is not needed is reported too.
//
// "bin/lint fmt FOLDER..." formats the Go files in folders. layout_test.go of the main module tests
// which package may import which.
package main
