// Package notifier defines delivery channels. A channel takes a Notification to its
// receiver, or says why it did not. It knows neither Redis nor queues nor limits: the
// caller has judged those.
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
//	Notify ────┼─ SlowDown    too fast, or by a worker whose clock is wrong: Pause waits for
//	           │              RetryAfter, and no attempt counts
//	           ├─ Permanent   never: the message fails, and its place is free again
//	           ├─ Gone        the provider knows this device no more
//	           └─ Refused     the provider refuses our credentials or our project: no
//	                          message can pass, this one waits, and no attempt counts
//
// All but Delivered have a Reason and an Err. Reasons are a closed set, so that they
// can label a metric. A channel only says Gone and Refused: the caller removes the device,
// unless too many are gone at once, and stops the channel. A channel says Gone only if the
// provider says it in its own words, and never for an HTTP status alone, since a wrong
// project answers 404 for every device. The Err is for the log: it never contains the message, a secret or
// the receiver's address. A refusal by the provider is a Result, not an error.
//
// # Who retries
//
// The caller retries: it puts the message back into the queue, where the limits are
// judged again and the attempts are counted. A channel that retried by itself would
// occupy a delivery slot and ignore the limits.
//
// # Uncertainty
//
// Any answer other than a success means that the message was not delivered. Without an
// answer it may or may not have been delivered: then Result.Uncertain is true, and the
// caller decides whether to send it again. If no connection was made the result is
// certain (ReasonUnreachable). Every attempt of a message has the same IdempotencyKey,
// which channels pass on, so that a receiver can drop the second copy.
//
// # Nothing after the answer
//
// A message whose result is not recorded is delivered again. So a channel returns as soon as
// it knows the result. What it still has to do with the connection is a Cleanup, which the
// caller runs after it has recorded the result, see WithCleanup.
//
// A provider that certainly processed nothing, since the connection refused the stream, is
// asked again at once by the channel. That is no second attempt.
//
// # Devices
//
// A channel with devices gets one in each Notification: fcm, apns and webpush. A message to
// several devices is a Notify for each. The address of a device is a secret.
//
// A channel may be more than a Notifier: a Checker finds a message that its provider would
// refuse without asking it, a Prober finds out whether its credentials work, and an
// io.Closer ends its connections.
//
// # Notices
//
// An Announcer takes a Notice, an alert or a report, to a contact. It has the same
// promises as a Notifier, and answers Delivered, Retry or Permanent. ByContact chooses one by the kind of contact: an
// e-mail address or a URL.
//
// # Packages
//
//	logline        channel and announcer: a line of JSON for each delivery
//	webhook        channel and announcer: a signed HTTP POST for each delivery
//	service        channel: ntfy, Gotify, Slack and others by URL
//	fcm            channel: a push through Firebase Cloud Messaging
//	apns           channel: a push to an iPhone, an iPad, a Mac or a Watch
//	webpush        channel: an encrypted push to a browser
//	reload         opens a channel again when the file with its credentials changes
//	email          announcer: text and HTML mail by SMTP
//	notifiertest   the suites that all of them pass, and servers to test against
//
// The channels import this package and not each other.
package notifier
