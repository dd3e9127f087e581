// Package fault has the errors of all packages of this module: the codes for machines, and the
// errors that carry them.
//
// A Code says why a request was refused. InvalidError is about an argument out of bounds,
// NoSuchError about something that does not exist, ExistsError about a name that is taken,
// UnavailableError about a store that cannot be used, and ErrReply about a reply that makes no
// sense. Each error except ErrReply has a Code method.
//
// The package imports nothing of this module.
package fault
