// Package operations gives a command the operations of the API: over HTTP, or in its own process
// on a store, without a socket.
//
//	--api, SENDLIMIT_API  ───► HTTP ──────────────────────► another process's API
//	REDIS_URL, --redis-url ──► client ──► api.InProcess ──► API here ──► the store
//	neither ─────────────────► HTTP ──────────────────────► the API of the worker on this machine
//
// A command sees a client in each case, so it is written once. On a store it is an operator: it has
// all scopes, no limit of requests, and a name in the audit log. At an API its key decides. A
// worker on loopback that does not require keys needs none: the command is an operator there too.
//
// A verb of a group is a row with its texts and its function. One looks up the name in the
// argument, List prints a Table, and Run is for the rest. Fill copies flags into a request.
//
// Only its worker reaches an embedded store, which starts empty. If it requires keys, the first one
// must be in the settings of the worker (accounts). It does not start without one.
package operations
