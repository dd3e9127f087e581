// Sendlimit-worker is the program of cmd/worker, so that "go install" gives it its name.
package main
