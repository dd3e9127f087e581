// Sendlimit is the program of cmd/enqueue, so that "go install" gives it its name.
package main
