// Package jobs repeats work in the background of a worker, such as a look at the
// watch list. It does not know what the work is.
package jobs
