// Package turn gives one of many programs the turn to do some work.
//
//	Turns  take a turn for a while: a check of all partitions, a cleanup
//	Job    takes the turn of a long job, with notes for the program that continues it
//
// A program may die during its turn. Then the turn ends at its time, by the server's clock. The
// package does not know the work. Errors are *fault.UnavailableError and fault.ErrReply.
package turn
