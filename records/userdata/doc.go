// Package userdata finds, exports and erases everything that a store has of one
// user.
//
// Users scans the keys of the server that has the user's partition, and reads the
// user's entries in the lists that the users of a partition share. Export returns
// them as Data. Erase removes them. In the log of changes Erase leaves who changed something,
// what and when, and removes whom it was about.
//
// It is the one package of sendlimit that knows the keys of all the others. It does
// not know the queue: see tasks/userdata.
//
// A call may miss what is written while it runs. It fails with a
// *fault.UnavailableError if the store does not answer.
package userdata
