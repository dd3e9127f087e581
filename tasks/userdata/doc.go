// Package userdata finds, exports and erases all data of one user, in the store and the
// queue.
//
// Users scans the keys of the server that has the user's partition, which takes time. It
// also reads the lists of the partition, the streams of events, the log
// of changes, the digests that name the user, and the user's tasks in the queue. Only this
// package knows the keys of all the others.
//
// Export returns a Document, which the API and the commands show. Erase cancels
// messages before it removes data, so that nothing is sent afterwards. It leaves entries in the log
// of changes, without the user.
//
// A call may miss data that is written while it runs. It fails with a *fault.UnavailableError if
// the store does not answer.
package userdata
