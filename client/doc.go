// Package client calls the HTTP API from Go. It has aliases of the API's types, so callers need no
// other import. It depends neither on Redis nor on the queue.
//
//	c, err := client.New("http://127.0.0.1:8080", client.Options{})
//	accepted, err := c.Submit(ctx, client.Message{User: "alice", SendAt: at, Title: "Dinner?"})
//
// A successful call returns a value. Any other call returns an error:
//
//	*Refusal           a rule or the state of the message is in the way; ErrNotFound is one
//	*InvalidError      the request is wrong: the field, and what is allowed
//	*UnavailableError  the store or the API can't be used right now
//	*ResponseError     the API does not document this answer for the call
//	*BatchError        a batch ended before its last message
//
// Times in answers are a Time, which embeds a time.Time.
//
// The Outcome of Submit means that the message is stored and will be sent at SendAt, even if all
// programs stop now. Shifted means that this is the next free time after RequestedAt. The Outcome
// of Move also has MovedFrom, zero if the message keeps its place. Replayed means that an earlier
// request did the same. NextFreeAt and PreviousFreeAt of a *Refusal are zero if no such time is
// free.
//
// Most methods are generated from the OpenAPI document, and have its names without "get". Their
// arguments are the names in the path, the body and the query, in this order. A list is an
// iterator, which requests further pages as needed. An answer of lines, such as that of
// DryRunPolicy, is an iterator too: its last event is the summary. After an error, an iterator
// ends. If something was removed or retried, ErrNotFound may mean that an earlier try did it and
// its answer was lost.
//
// # Retries
//
// A request without an answer, or with status 408, 429, 502, 503 or 504, is sent again: after a
// wait that doubles, or that Retry-After gives, for at most Options.Attempts tries and until the
// context ends. This is safe: a message gets its id before it is first sent, so it is never
// submitted twice, and a repeated cancel or move changes nothing. After an *UnavailableError a
// message may have been accepted; submit it again with the same id. A dry run of a policy or a refit is retried
// only before its first event. A request that the API would do twice, such as adding a key, is sent
// once.
//
// # Concurrent changes
//
// Policies and users' settings have a version. A change can require one:
//
//	policy, err := c.Policy(ctx, "default")
//	policy.Reach = "30d"
//	change, err := c.ApplyPolicy(ctx, policy.Name, policy, client.IfVersion(policy.Version))
//
// # Bounds
//
// One try takes at most Options.Timeout. In a batch, a dry run of a policy or a refit this bounds the wait for
// each line. The size of an answer is bounded, redirects are not followed, and no error contains
// the key.
package client
