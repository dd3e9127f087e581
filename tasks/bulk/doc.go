// Package bulk submits many messages, line by line: those of a file, or of a
// request. Each user's lines are judged in their order, one at a time, and
// different users' side by side, so that the outcome of the same lines is always
// the same; the outcomes are handed on in the order of the lines, too.
//
//	lines ──► lanes, a user always in the same one ──► window ──► Sink
//	             one line at a time each                back in order
//
// What is read and not yet handed on is bounded, and nothing else is kept, so
// that memory does not grow with the number of lines.
package bulk
