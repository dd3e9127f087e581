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
//	webhook-signature  "v1," and an HMAC-SHA256, for each secret, with a space between them
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
//	401, 403, 407            refused, unauthorized: no message passes
//	404                      retry, misaddressed
//	410                      retry, gone
//	405, 421                 permanent, misaddressed
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
// A 404 or 410 is tried again, since a receiver that is being deployed may answer so: the
// message fails after its last attempt.
//
// # More headers, and a proxy
//
// Config.Headers are sent with each request, such as the key of a gateway. Headers that the
// package or the connection sets are not allowed, and the values are in no error. A proxy is
// used only if Config.Proxy names one: HTTPS_PROXY in the environment counts only with
// http.ProxyFromEnvironment. A proxy that refuses to connect is unreachable.
//
// # Notices
//
// An Announcer posts a notifier.Notice in JSON to the URL of the contact, with the same
// headers and answers, but that 401, 403, 404, 407 and 410 are permanent: they concern one
// contact. The key is the notice's. Users of the service set contacts, so a
// contact at an internal address is permanent, misaddressed, unless
// AnnouncerConfig.AllowInternal is set.
//
// # Events
//
// A Callback posts a batch of CloudEvents to the callback URL of an account, as
// application/cloudevents-batch+json, with the headers and answers of notices. Accounts name
// callbacks, so they are guarded as contacts are: the address is checked that is dialed.
//
// # What it does not do
//
// It does not retry or follow redirects. An Announcer and a Callback use no proxy. A Notifier allows targets on private
// and loopback addresses, because the operator sets the URL. It checks the server's
// certificate against the system's authorities, and has no client certificate.
package webhook
