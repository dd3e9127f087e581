// Package operations gives a command the operations of the API: over HTTP, or in its own process
// on a store, without a socket.
//
//	--api, SENDLIMIT_API  ───► HTTP ──────────────────────► another process's API
//	REDIS_URL, --redis-url ──► client ──► api.InProcess ──► API here ──► the store
//	neither ─────────────────► the same, on the embedded store of the worker on this machine
//
// A command sees a client in each case, so it is written once. On a store it is an operator: it
// has all scopes and no limit of requests, and the audit log names who ran it.
package operations
