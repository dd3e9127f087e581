// Package userdata exports and erases all data of one user in the store and the queue.
//
// Users joins records/userdata, which knows the keys of the store, with the user's tasks
// in the queue and the digests that name the user. Erase cancels messages before it
// removes data, so that nothing is sent afterwards. Both calls look at every key of a
// server, which takes time.
package userdata
