// Lint checks the Go code: the analyzers of vet and of staticcheck, a few others that find
// faults, and the rules of this house. go vet runs it, and keeps in Go's build cache what it
// said of a package until that changes:
//
//	go build -C tools -buildvcs=false -o ../bin/lint ./lint
//	go vet -vettool=bin/lint ./...
//
// An exception is a comment on the line, or on the first line of what it is about, or above
// that. It names the analyzer and gives the reason:
//
//	local := time.Now //nolint:names // measures calls, judges nothing
//
// An exception that excepts nothing is reported, too.
//
// "bin/lint fmt FOLDER..." formats the Go files in folders. Which package may import which
// is tested in layout_test.go of the main module.
package main
