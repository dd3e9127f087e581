// Package session remembers who has logged in to the dashboard.
//
// A session is a random cookie. The store has the session under the SHA-256 of the cookie, with
// the SHA-256 of the API key and the time when it ends, so it holds on every process of a store.
// Neither the store nor a backup of it has what a browser would have to send: whoever reads it
// can't log in with it.
//
// The cookie has no key: whoever steals it can use the session until it ends, and no longer. A
// session is worth what its key is worth: each look finds the account of the key anew, at most a
// second old. So a session ends with its key, and gains and loses scopes with it. End and Revoke
// end one before its time, for all processes. List has all that have not ended.
package session
