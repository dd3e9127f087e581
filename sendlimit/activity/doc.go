// Package activity counts what becomes of the messages of all accounts, by minute and by
// hour, for an operator's dashboard.
//
// A Log counts in memory, without a round trip. Flush adds what was counted to two hashes of
// the store: that of the minute, kept for 26 hours, and that of the hour, kept for 32 days.
// A flush that is repeated after a lost reply adds nothing a second time. Minutes and Hours
// read what all processes have flushed. A process that is killed loses what it has not
// flushed.
//
// One flush is one script call, 20 to 40 µs of the store's time. Long-running programs flush
// once a second if they have counted something, so ten of them take the store 0.04 % of its
// time. A minute takes some 500 bytes of memory, all of them less than a megabyte.
//
// A refusal has a label, and so has a drop and a failure. A process counts the first 64
// labels of an hour, and everything else as Other.
//
// The package does not know messages, accounts or queues, and stores no user's data. Errors
// are *fault.UnavailableError, *fault.InvalidError and fault.ErrReply.
package activity
