// Package client calls the HTTP API from Go. It imports nothing else of this
// module, so that a caller gets neither the store nor the queue along.
//
//	c, err := client.New("http://127.0.0.1:8080", client.Options{})
//	accepted, err := c.Submit(ctx, client.Message{User: "alice", SendAt: at, Title: "Dinner?"})
//
// What was done is a value: Accepted, Moved, Cancelled, Retried. What was not
// is an error:
//
//	*Refusal           the rules, or the state of what it is about, are in the way; ErrNotFound is one
//	*InvalidError      the request is wrong: the field, and what it takes
//	*UnavailableError  the store or the API can't be used right now
//	*ResponseError     the answer is none that the API documents for the call
//	*BatchError        a batch ended before its last message
//
// # Repeating
//
// A request that got no answer, or 408, 429, 502, 503 or 504, is sent again after a
// wait that doubles, or that Retry-After asks for, up to Options.Attempts times
// and until the context ends. That is safe: a message has its id before it is
// sent for the first time, so that it is never submitted twice, and cancelling
// or moving twice is the same as once. Where the store did not answer a submit,
// an *UnavailableError does not say whether it was accepted; the same message
// with the same id can be submitted again at any time. A preview or a refit is
// asked for again until it has told something, and not after that.
//
// # Changing what somebody else may change
//
// Policies and users' settings have a version, and what changes them takes it as
// a condition:
//
//	policy, err := c.Policy(ctx, "default")
//	policy.Reach = "30d"
//	change, err := c.ApplyPolicy(ctx, policy, client.IfVersion(policy.Version))
//
// # Bounds
//
// One try takes Options.Timeout at most, a batch, a preview or a refit that long
// without a line. An answer is read up to a bound, redirects are not followed, and
// no error holds the key.
package client
