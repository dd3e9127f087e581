// Package client calls the HTTP API from Go. The values that it takes and returns are
// those of the API: it has aliases of them, so that a caller imports nothing else. Neither
// Redis nor the queue is among its dependencies.
//
//	c, err := client.New("http://127.0.0.1:8080", client.Options{})
//	accepted, err := c.Submit(ctx, client.Message{User: "alice", SendAt: at, Title: "Dinner?"})
//
// A call that succeeds returns a value. A call that does not returns an error:
//
//	*Refusal           a rule or the state of the message is in the way; ErrNotFound is one
//	*InvalidError      the request is wrong: the field, and what is allowed
//	*UnavailableError  the store or the API can't be used right now
//	*ResponseError     the API does not document this answer for the call
//	*BatchError        a batch ended before its last message
//
// A time in an answer is a Time: a time.Time, embedded.
//
// The Outcome of Submit says that the message is stored and will be sent at SendAt, even if all
// programs stop now, and Shifted if that is the next free time after RequestedAt. That of Move
// also says MovedFrom, zero if the message keeps its place. Replayed is set of what was done
// before. Of a *Refusal, NextFreeAt and PreviousFreeAt are zero if there is none.
//
// Most methods are those of the OpenAPI document, by its names without "get", and are generated
// from it. They take the names in the path, the body and the query, in this order. A list is an
// iterator: it asks for the next page when one is used up, and an error is the last thing that it
// yields. So is an answer of lines, such as that of PreviewPolicy: its last event is the summary,
// or else an error. Where a thing was removed or retried, ErrNotFound may mean that an earlier
// try, whose answer got lost, did that.
//
// # Retries
//
// A request without an answer, or with status 408, 429, 502, 503 or 504, is sent again:
// after a wait that doubles, or the wait that Retry-After asks for, up to
// Options.Attempts times and until the context ends. That is safe: a message has its id
// before it is first sent, so it is never submitted twice, and to cancel or move twice
// is the same as once. After an *UnavailableError a message may or may not be accepted;
// submit the same message with the same id again. A preview or a refit is retried only
// until its first event. What would be done twice, such as adding a key, is sent once.
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
// One try takes at most Options.Timeout. A batch, a preview or a refit may wait that long
// for each line. The size of an answer is bounded, redirects are not followed, and no
// error contains the key.
package client
