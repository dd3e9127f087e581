// Package userdata finds, exports and erases all data of one user, in the store and the
// queue.
//
// Users scans the keys of the server that has the user's partition, which takes time. It
// also reads the lists that the users of a partition share, the streams of events, the log
// of changes, the digests that name the user, and the user's tasks in the queue. It is the
// one package that knows the keys of all the others.
//
// Export returns a Document, which is what the API and the commands show. Erase cancels
// messages before it removes data, so that nothing is sent afterwards. In the log of changes
// Erase leaves who changed something, what and when, and removes whom it was about.
//
// A call may miss what is written while it runs. It fails with a *fault.UnavailableError if
// the store does not answer.
package userdata
