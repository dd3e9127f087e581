// Package turn lets one of many programs do what is to be done once.
//
//	Take  takes a turn for a while: a look at all partitions, a sweep
//	Job   takes the turn of a job that takes long, with notes for whoever continues it
//
// Programs are expected to die with a turn. Nothing gives it back then: it ends at its time, by the
// server's clock. The package does not know what is done. Errors are *fault.UnavailableError and
// fault.ErrReply.
package turn
