// Package stats counts what becomes of accounts' messages, by account and natural
// day, for daily reports.
//
// Stats counts in memory, without a round trip; Flush writes what was counted,
// and Read returns the numbers of a day. A process that is killed loses what it
// has not flushed.
//
// The package does not know messages, notices or queues. Errors are
// *fault.UnavailableError, *fault.InvalidError and fault.ErrReply.
package stats
