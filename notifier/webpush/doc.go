// Package webpush is the channel of browsers: Web Push (RFC 8030), encrypted for the browser
// (RFC 8291) and signed for its push service (RFC 8292, VAPID).
//
// # Keys
//
// GenerateKeys returns a new pair. Web pages subscribe with the public key, and the subscription's
// JSON is the Address of a device. A subscription works only with the pair that it was made with:
// if the private key is lost, every browser has to subscribe again.
//
// # The request
//
// The body is encrypted for one subscription and padded to 256, 512, 1024, 2048, 2744 or 4096
// bytes. The headers are TTL, from the message's expiry; Urgency, from its priority; and Topic, 32
// characters of a hash of the collapse key, by default of the message. A push replaces one with the
// same topic that waits at the push service. A VAPID token is valid for 12 hours and used for one
// hour: push services ask for few tokens.
//
// The standard library encrypts; the vectors of RFC 8291 test it. The usual library, webpush-go
// v1.4.0, signs each push, pads to 4,096 bytes and reports errors with the endpoint.
//
// # The payload
//
// A service worker receives this JSON. Empty members are absent:
//
//	{
//	  "web_push": 8030,
//	  "id": "order-17", "category": "orders", "send_at": "2026-11-22T11:11:11.000Z",
//	  "notification": {
//	    "title": "…", "body": "…", "image": "https://…", "navigate": "https://…",
//	    "tag": "order-17", "data": {"order": "17"}
//	  },
//	  "app_badge": 3,
//	  "mutable": true
//	}
//
// navigate is the message's click_url, and tag its collapse_key or its id. A handler of push events
// needs little more than
//
//	const {notification: {title, ...shown}} = event.data.json()
//	event.waitUntil(self.registration.showNotification(title, shown))
//
// With a title and a navigate it is a declarative push message, which has web_push and mutable.
// Safari from 18.4 on shows it without a service worker, and others ignore web_push. The
// Content-Type is application/octet-stream because the body is encrypted; browsers recognize a
// declarative message by its web_push. Web Push has no sounds.
//
// A message's additions for this channel are an object: urgency (very-low, low, normal, high), ttl
// in seconds, and notification, whose members replace those above; null removes one.
//
// # The answer
//
//	2xx                                          delivered; Location is the receipt
//	3xx                                          permanent, redirected; never followed
//	400                                          permanent, rejected
//	400, 401, 403: another VAPID key             gone, mismatched
//	400, 401, 403: the token has expired, or     slow down, unavailable: the message. This
//	   expires after more than 24 hours          worker's clock is wrong
//	400, 401, 403: the token is refused; others  refused, unauthorized
//	404, 410                                     gone
//	406 of Windows' service                      slow down, rate_limited: the host
//	408, 425                                     retry, unavailable
//	413                                          permanent, too_large
//	429                                          slow down, rate_limited: the device
//	503 with Retry-After, or errno 201           slow down, unavailable: the host
//	other 5xx                                    retry, unavailable
//	other 4xx                                    permanent, rejected
//
// A 400 is a refusal of the token only if it says so. A 429 is about one device, until three
// devices of a host got one and the host accepted nothing in between: then it is about the host.
// Nothing is sent to a host during its pause: every push is a slow down without a request. Without
// an answer see package exchange.
//
// # What it does not do
//
// It pushes only to https: endpoints of Config.Hosts, by default those that push services give to
// browsers, and not to internal addresses unless Config.AllowInternal is set: browsers name the
// endpoints. It uses no proxy.
package webpush
