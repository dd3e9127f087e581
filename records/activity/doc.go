// Package activity counts what becomes of messages: of all by minute and by hour, for an
// operator's dashboard, and of each account by natural day, for its daily report.
//
// A Log is told each happening once, and counts in memory, without a round trip. Flush adds what
// was counted to hashes of the store: that of the minute, kept for 26 hours, that of the hour,
// kept for 32 days, and that of the account's day in its time zone, kept for 8 days. A flush that
// is repeated after a lost reply adds nothing a second time. Minutes, Hours and Days read what all
// processes have flushed. A process that is killed loses what it has not flushed.
//
// A flush is one script call for all messages, some 80 µs of the store's time if everything
// happens in that second, and one of 0.4 ms for each 100 accounts. Long-running programs flush once a second
// if they have counted something, so ten of them take the store less than 0.1 % of its time. To
// read a day by minutes takes the store 4 ms, in calls of a part of a millisecond: a program that
// serves many readers should ask once for all of them.
//
// A refusal has a label, and so has a drop and a failure. In the hashes of all, a process counts
// the first 64 labels of an hour, and everything else as Other.
//
// The package does not know messages, accounts or queues, and stores no user's data. Errors
// are *fault.UnavailableError, *fault.InvalidError and fault.ErrReply.
package activity
