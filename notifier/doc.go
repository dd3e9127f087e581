// Package notifier defines delivery channels. A channel delivers a Notification to its receiver, or
// says why it did not. It knows neither Redis nor queues nor limits: the caller has checked the
// limits.
//
// # What a channel promises
//
// Notify tries once. It returns when the provider has answered or its context has ended.
// It is safe for concurrent use, does not change the Notification, and never panics on
// its content. It keeps no state between calls that a crash could lose.
//
// # The answers
//
//	           ┌─ Delivered   the provider accepted the message
//	           ├─ Retry       not now; RetryAfter is the wait that the provider asks for
//	Notify ────┼─ SlowDown    too fast, or this worker's clock is wrong or it has too many open
//	           │              files: Pause waits for RetryAfter, and the attempt does not count
//	           ├─ Permanent   never: the message fails, and its place is free again
//	           ├─ Gone        the provider no longer knows this device
//	           └─ Refused     the provider refuses our credentials or our project: no message
//	                          can be delivered, this one waits, and the attempt does not count
//
// All but Delivered have a Reason and an Err. Reasons are a closed set, so that they can label a
// metric. The caller acts on Gone and Refused: it removes the device, unless too many are gone at
// once, and stops the channel. A channel returns Gone only for a provider's explicit answer, never
// for an HTTP status, since a wrong project answers 404 for every device. Err is for the log: it
// never contains the message, a secret or the receiver's address. A refusal by the provider is a
// Result, not an error.
//
// # Who retries
//
// The caller retries: it puts the message back into the queue, checks the limits again and counts
// the attempts. A channel that retried would occupy a delivery slot and ignore the limits.
//
// # Uncertainty
//
// Any answer other than a success means that the message was not delivered. Without an answer it
// may or may not have been delivered: Result.Uncertain is true, and the caller decides whether to
// send it again. If no connection was made, the result is certain (ReasonUnreachable). Every
// attempt of a message has the same IdempotencyKey, which channels pass on, so that a receiver can
// drop a second copy.
//
// # Nothing after the answer
//
// A message whose result is not recorded is delivered again. So a channel returns as soon as it
// knows the result. Its remaining work on the connection is a Cleanup, which the caller runs after
// the record, see WithCleanup.
//
// If the provider certainly processed nothing, because the connection refused the stream, the
// channel sends the request again at once. It is not a second attempt.
//
// # Devices
//
// The channels fcm, apns and webpush have devices: each Notification has one. A message to several
// devices is one Notify for each. The address of a device is a secret.
//
// A channel may also be a Checker, which finds messages that its provider would refuse, a Prober,
// which checks its credentials, and an io.Closer, which ends its connections.
//
// # Notices
//
// An Announcer delivers a Notice, an alert or a report, to a contact. It has the promises of a
// Notifier, and returns Delivered, Retry or Permanent. ByContact chooses one by the kind of
// contact: an e-mail address or a URL.
//
// # Packages
//
//	logline        channel and announcer: a line of JSON for each delivery
//	webhook        channel and announcer: a signed HTTP POST for each delivery
//	service        channel: ntfy, Gotify, Slack and others by URL
//	fcm            channel: a push through Firebase Cloud Messaging
//	apns           channel: a push to an iPhone, an iPad, a Mac or a Watch
//	webpush        channel: an encrypted push to a browser
//	reload         reopens a channel when the file with its credentials changes
//	email          announcer: text and HTML mail by SMTP
//	notifiertest   the test suites for all of them, and test servers
//
// The channels import this package and not each other.
package notifier
