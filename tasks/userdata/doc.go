// Package userdata exports and erases everything that the store and the queue have
// of one user.
//
// Users joins sendlimit/userdata, which knows the keys of the store, with the user's
// tasks in the queue and the digests that name the user. Erase cancels first, then
// removes, so that nothing is sent afterwards. Both calls look at every key of a
// server, and take time accordingly.
package userdata
