// Package webhook is the channel of a target "http://…" or "https://…": each delivery is a
// POST to one URL. It is also the announcer for contacts that are https: URLs.
//
// # The request
//
// The body is a notifier.Payload in JSON. The headers are those of Standard
// Webhooks (https://www.standardwebhooks.com):
//
//	webhook-id         the notification's idempotency key, the same at every attempt
//	webhook-timestamp  the time of this attempt, in Unix seconds
//	webhook-signature  "v1," and an HMAC-SHA256, if there is a secret
//	Idempotency-Key    the same as webhook-id
//
// A receiver that remembers the keys for as long as messages are retried handles each
// message exactly once.
//
// # The answer
//
//	2xx                      delivered
//	429                      retry, rate_limited
//	408, 425, 5xx            retry, unavailable
//	3xx                      permanent, redirected; never followed
//	401, 403, 407            permanent, unauthorized
//	404, 405, 421            permanent, misaddressed
//	410                      permanent, gone
//	other 4xx                permanent, rejected
//	no connection            retry, unreachable: nothing was sent
//	the connection broke     retry, network: uncertain
//	no answer in time        retry, timeout: uncertain
//
// With a retry, Retry-After is followed, in seconds or as a date, up to MaxRetryAfter. One
// that can't be read is ignored. The answer counts as soon as its headers have arrived; a
// slow, broken or endless body changes nothing. It is read in a notifier.Cleanup, so that the
// connection can be used again.
//
// # Notices
//
// An Announcer posts a notifier.Notice in JSON to the URL of the contact, with the same
// headers and answers; the key is the notice's. Users of the service set contacts, so a
// contact at an internal address is permanent, misaddressed, unless
// AnnouncerConfig.AllowInternal is set.
//
// # Events
//
// A Callback posts a batch of CloudEvents to the callback URL of an account, as
// application/cloudevents-batch+json, with the same headers and answers. During the rotation
// of a secret webhook-signature has two signatures, with a space between them. Accounts name
// callbacks, so they are guarded as contacts are: the address is checked that is dialed.
//
// # What it does not do
//
// It does not retry, follow redirects or use a proxy. A Notifier allows targets on private
// and loopback addresses, because the operator sets the URL. It checks the server's
// certificate against the system's authorities, and has no client certificate.
package webhook
