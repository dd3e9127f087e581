// Package webhook is the channel of a target "http://…" or "https://…": each delivery is a POST to
// one URL. It is also the announcer for https: contacts.
//
// # The request
//
// The body is a notifier.Payload in JSON. The headers are those of Standard Webhooks
// (https://www.standardwebhooks.com):
//
//	webhook-id         the notification's idempotency key, the same at every attempt
//	webhook-timestamp  the time of this attempt, in Unix seconds
//	webhook-signature  "v1," and an HMAC-SHA256, for each secret, with a space between them
//	Idempotency-Key    the same as webhook-id
//
// A receiver that remembers the keys for as long as messages are retried handles each message
// exactly once.
//
// # The answer
//
//	2xx                      delivered
//	429                      retry, rate_limited: no attempt, and the worker posts slower
//	408, 425, 5xx            retry, unavailable
//	3xx                      permanent, redirected; never followed
//	401, 403, 407            refused, unauthorized: no message can be delivered
//	404                      retry, misaddressed
//	410                      retry, gone
//	405, 421                 permanent, misaddressed
//	other 4xx                permanent, rejected
//	no connection            retry, unreachable: nothing was sent
//	the connection broke     retry, network: uncertain
//	no answer in time        retry, timeout: uncertain
//
// Retry-After is followed with a retry, in seconds or as a date, up to MaxRetryAfter. The headers
// of an answer decide; a slow, broken or endless body changes nothing. It is read in a
// notifier.Cleanup, so that the connection can be used again.
//
// A 404 or 410 is retried, since a receiver may answer so during its deployment. The message fails
// after its last attempt.
//
// # More headers, and a proxy
//
// Config.Headers are sent with each request, such as the key of a gateway. Headers that the package
// or the connection sets are not allowed, and errors do not show the values. A proxy is used only
// with Config.Proxy: HTTPS_PROXY in the environment needs http.ProxyFromEnvironment. A proxy that
// refuses to connect is unreachable.
//
// # Notices
//
// An Announcer posts a notifier.Notice in JSON to the URL of the contact, with the same headers and
// the notice's key. The answers are the same, but 401, 403, 404, 407 and 410 are permanent, because
// they concern one contact. Users of the service set contacts, so an internal address is permanent,
// misaddressed, unless AnnouncerConfig.AllowInternal is set.
//
// # Events
//
// A Callback posts a batch of CloudEvents to the callback URL of an account, as
// application/cloudevents-batch+json, with the headers and answers of notices. Accounts set
// callbacks, so internal addresses are refused as for contacts: the dialed address is checked.
//
// # What it does not do
//
// It does not retry or follow redirects. An Announcer and a Callback use no proxy. A Notifier
// allows internal addresses, because the operator sets the URL. It checks the server's certificate
// against the system's authorities, and has no client certificate.
package webhook
