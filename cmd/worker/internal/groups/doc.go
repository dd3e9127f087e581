// Package groups has the commands of the worker that show and change the store: account, tier,
// user, event-limit, pace, sending, stats and audit. Each uses the operations of the API.
//
// A new key is the only thing on standard output, so that a script can read it. Notes for a person
// go to standard error.
package groups

// pageSize is how many entries one request reads or retries.
const pageSize = 1000
