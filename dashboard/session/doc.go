// Package session remembers who has logged in to the dashboard.
//
// A session is a cookie, so that it holds on every process of a store:
//
//	1 . SHA-256 of the API key, hex . when it ends, Unix s . id . HMAC-SHA-256 of what is before
//
// The cookie has no key: whoever steals it can use the session until it ends, and no longer. The
// secret of the HMAC is in the store. A session is worth what its key is worth: each look finds
// the account of the key anew, at most a second old. So a session ends with its key, and gains
// and loses scopes with it. End ends one before its time, for all processes.
package session
