// Package bulk submits many messages, line by line: those of a file, or of a
// request. Each user's lines are judged in their order, one at a time, and
// different users' side by side, so that the outcome of the same lines is always
// the same; the outcomes are handed on in the order of the lines, too.
//
//	lines ──► a chain of each user's ──► lanes ──► window ──► Sink
//	             in their order         a line of   back in order
//	                                    each at a time
//
// A user with many lines decides how long the whole takes: which chain goes next
// is decided so that the long ones begin in time.
//
// What is read and not yet handed on is bounded, and nothing else is kept, so
// that memory does not grow with the number of lines.
package bulk
