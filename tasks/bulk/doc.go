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
//
// A dry run leaves a trace of each line in the store until it ends, on which the
// user's later lines are judged. So that these do not grow with the number of
// lines either, RunInGroups sets the lines aside first, by users, and judges a
// group of users after the other:
//
//	lines ──► a file for each ──► Run, group by group; ──► the outcomes merged ──► Sink
//	             group of users     traces forgotten          in the order
//	                                after each                of the lines
package bulk
