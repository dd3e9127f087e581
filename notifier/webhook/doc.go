// Package webhook is the channel of a target "http://…" or "https://…": each
// delivery is a POST to one URL. It is the announcer for contacts that are https:
// URLs too.
//
// # The request
//
// The body is a notifier.Payload in JSON. The headers are those of Standard
// Webhooks (https://www.standardwebhooks.com):
//
//	webhook-id         the notification's idempotency key, the same at every try
//	webhook-timestamp  when this try was made, in Unix seconds
//	webhook-signature  "v1," and an HMAC-SHA256, where there is a secret
//	Idempotency-Key    the same as webhook-id
//
// A receiver that remembers the key for as long as messages are retried
// delivers each exactly once.
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
// With a retry, Retry-After counts, in seconds or as a date, up to
// MaxRetryAfter; one that can't be read is ignored. The answer is its status:
// it counts as soon as the headers are there, and a body that is slow, broken or
// endless changes nothing.
//
// # Notices
//
// An Announcer posts a notifier.Notice in JSON, each to the URL of its contact,
// with the same headers and the same answers; the key is the notice's. Contacts
// are not the operator's own, so that one at an internal address is permanent,
// misaddressed, unless AnnouncerConfig.AllowInternal says otherwise.
//
// # What it does not do
//
// It retries nothing, follows no redirect and uses no proxy. A Notifier
// allows targets on private and loopback addresses: the URL is the operator's own. It checks
// the server's certificate against the system's authorities and offers none of
// its own.
package webhook
