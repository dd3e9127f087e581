// Package bulk submits many messages: the lines of a file or of a request. Run judges
// each user's lines in order, and the lines of different users in parallel. So the same lines always
// have the same outcomes. A JudgeMany judges the waiting lines of a user together. The Sink receives
// the outcomes in the order of the lines.
//
//	lines ──► one chain per user ──► lanes ──► window ──► Sink
//	           in order               judge     back in order
//
// The user with the most lines determines how long a run takes, so long chains start
// first. A window bounds the lines in memory.
//
// A dry run keeps a trace of each line in the store, to judge the user's later lines.
// RunInGroups bounds these traces: it writes the lines to temporary files by
// groups of users, judges group by group, and removes the traces after each group.
//
//	lines ──► a file per group ──► Run, group by group ──► merge in order ──► Sink
//
// Package bulk judges nothing: a Judge and a JudgeMany are functions.
package bulk
