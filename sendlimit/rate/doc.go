// Package rate limits how fast something happens now, over all processes that share a store.
//
// Permits limits to a rate that no interval exceeds, wherever it begins; the rate is in the store
// and can change at any time. TokenBucket allows bursts up to a capacity and a steady rate after
// them; it takes the same little memory for any rate. Both answer with a Grant; a refusal is a
// Grant, not an error, and always has the time to wait. Wait waits for it: callers of one process
// wait in a queue. Peek returns a Level and takes nothing. Guard limits the calls of a function or
// an http.Handler and refuses them before they run. Paces keeps the rate, the bursts and a pause of
// a target in the store, and the rate that its refusals have taught: see Learned.
//
// All times come from the server's clock, unless a request sets its own for tests.
//
// The package does not know users, messages, timelines or accounts. For messages that are sent at a
// later time use a sendlimit.Timeline, for natural hours and days package counters.
//
// Errors: *fault.InvalidError for an argument out of bounds, *NoRateError for permits without a
// rate, *TokenReusedError for a token that was used for another number of permits,
// *fault.UnavailableError if the store did not answer, fault.ErrReply if its reply makes no sense.
// While the store is unavailable nothing is granted; the caller decides whether to wait.
package rate
