// Package bulk submits many messages: the lines of a file or of a request. Run judges
// each user's lines in order, and the lines of different users in parallel. With a JudgeMany
// it judges the waiting lines of a user together. So the same lines always have the same outcomes. The Sink receives the
// outcomes in the order of the lines.
//
//	lines ──► one chain per user ──► lanes ──► window ──► Sink
//	           in order               judge     back in order
//
// The user with the most lines determines how long a run takes, so long chains start
// first. The number of lines that are read and not yet handed on is bounded: memory does
// not grow with the input.
//
// A dry run keeps a trace of each line in the store, by which the user's later lines are
// judged. RunInGroups bounds these traces: it writes the lines to temporary files by
// groups of users, judges group by group, and forgets the traces after each group.
//
//	lines ──► a file per group ──► Run, group by group ──► merge in order ──► Sink
//
// Package bulk does not know how a message is judged: a Judge and a JudgeMany are functions.
package bulk
