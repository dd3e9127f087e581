// Package notifier says what a delivery channel is: something that takes a
// Notification to its receiver, or says why it did not. It knows nothing of
// Redis, queues or limits; who calls it has judged those already.
//
// # What a channel promises
//
// Notify tries once, returns when the provider has answered or its context has
// ended, is safe for concurrent use, changes nothing in the Notification, and
// never panics on its content. It keeps no state between calls that a crash
// could lose.
//
// # The three answers
//
//	           ┌─ Delivered   the provider took the message
//	Notify ────┼─ Retry       not now; RetryAfter is the provider's wish, if it had one
//	           └─ Permanent   never: the message fails, and its place is free again
//
// Retry and Permanent carry a Reason out of a closed set, which is safe as a
// metric's label, and an Err for the log, which never holds the message, a
// secret or the address delivered to. A Result is a value, not an error: that a
// provider refuses is an outcome like any other.
//
// # Who retries
//
// The caller, by putting the message back in the queue for a later time, where
// the receiver's limits are judged again and the tries are counted and bounded.
// A channel that retried by itself would hold a delivery slot meanwhile, and
// would send past those limits.
//
// # Uncertainty
//
// A provider's answer is taken at its word: whatever is not a success was not
// delivered. Without an answer nobody knows. Result.Uncertain tells the two
// apart, and the caller decides whether such a message is sent again, maybe
// twice, or not, maybe never. A channel claims uncertainty only where the
// message may have left: a connection that was never made is certain
// (ReasonUnreachable). To make the second copy harmless, every try of a message
// carries the same IdempotencyKey, and channels pass it on.
//
// # Notices
//
// An Announcer is to a Notice, an alert or a report for a contact, what a
// Notifier is to a Notification: the same answers, the same promises, and a key
// derived from the notice's id to make a second copy harmless. ByContact picks
// one by what the contact is, an e-mail address or a URL.
//
// # Where things are
//
//	pushtarget     makes a channel of a target such as "log:" or "https://…"
//	logline        channel and announcer: a JSON line per delivery on a writer
//	webhook        channel and announcer: a signed HTTP POST per delivery
//	email          announcer: text and HTML mail by SMTP
//	notifiertest   the suites every one of them passes, and servers to test against
//
// The channels import this package and not each other.
package notifier
