// Package activity counts outcomes of messages: of all by minute and by hour, for an operator's
// dashboard, and of each account by natural day, for its daily report.
//
// A Log counts each outcome in memory, without a round trip. Flush adds the counts to hashes of the
// store: one of the minute, kept for 26 hours, one of the hour, kept for 32 days, and one of the
// account's day in its time zone, kept for 8 days. A flush that is repeated after a lost reply
// counts only once. Minutes, Hours and Days read what all processes have flushed. A process that is
// killed loses what it has not flushed.
//
// A flush is one script call for all messages, about 80 µs of the store's time, and one of 0.4 ms
// for each 100 accounts. Long-running programs flush once a second if there is something, so ten of
// them need less than 0.1 % of the store's time. To read a day by minutes needs 4 ms, in calls of
// less than a millisecond: a program with many readers should read once for all of them.
//
// Refusals, drops and failures have labels. In the hashes of all accounts, a process counts the
// first 64 labels of an hour, and all others as Other.
//
// The package knows neither messages nor accounts nor queues, and stores no user's data. Errors are
// *fault.UnavailableError, *fault.InvalidError and fault.ErrReply.
package activity
