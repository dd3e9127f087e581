// Package session keeps the logins to the dashboard.
//
// A session is a random cookie. The store has the session under the SHA-256 of the cookie, with the
// SHA-256 of the API key and its end, so it is valid in every process of a store. Nobody can log in
// with the content of the store or of a backup.
//
// The cookie does not contain the key: a thief can use the session until it ends, and no longer.
// Each look reads the account of the key, at most a second old. So a session ends with its key, and
// gains and loses scopes with it. End and Revoke end it earlier, in all processes. List returns the
// open sessions.
package session
