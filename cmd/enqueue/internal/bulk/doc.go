// Package bulk submits the messages of a file. Each user's lines are judged in
// the order of the file, one at a time, and different users' side by side, so
// that the outcome of a file is always the same; the outcomes are handed on in
// the order of the file, too.
//
//	Source ──► lanes, a user always in the same one ──► window ──► Sink
//	             one line at a time each                back in order
//
// What is read and not yet handed on is bounded, and nothing else is kept, so
// that memory does not grow with the file.
package bulk
