// Package groups has the commands of the worker that show and change what is on a store: account,
// tier, user, event-limit, pace, stats and audit. Each asks the operations of the API.
//
// A new key goes to standard output and nothing else does, so that a script can read it. What a
// person should know about the key goes to standard error.
package groups

// pageSize is how many entries one request reads or retries.
const pageSize = 1000
