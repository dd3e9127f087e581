// Package operations gives a command the operations of the API: over HTTP, or in its own process
// on a store, without a socket.
//
//	--api, SENDLIMIT_API  ───► HTTP ──────────────────────► another process's API
//	REDIS_URL, --redis-url ──► client ──► api.InProcess ──► API here ──► the store
//	neither ─────────────────► HTTP ──────────────────────► the API of the worker on this machine
//
// A command sees a client in each case, so it is written once. On a store it is an operator: it
// has all scopes and no limit of requests, and the audit log names who ran it. At an API it may do
// what its key may. It needs none at a worker on loopback that does not require keys.
//
// A verb of a group is a row: its texts, and what it does: One asks about the name in its argument,
// List prints a Table, Run is for the rest. Fill puts flags into what is sent.
//
// Only its worker reaches an embedded store, which begins empty: where keys are required there, the
// first one is in the settings of the worker (accounts), and it does not start without.
package operations
