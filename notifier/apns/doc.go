// Package apns is the channel of Apple's devices: the Apple Push Notification service, over
// HTTP/2 with a provider token.
//
// # The provider token
//
// It is a JWT, signed with the team's key. Apple accepts it for 60 minutes. Apple refuses to see
// another one within 20 minutes, and does not say whether per connection or per key. So all
// programs with the same key use the same token, without communication: its issue time is a
// multiple of 35 minutes, and its signature is deterministic (RFC 6979). A program that starts
// shortly before such a time may show Apple the next token too soon. Then all use the previous one
// for 20 minutes more. If Apple says that the current one has expired, a clock is wrong.
//
// # Connections
//
// There are at most Config.Connections, each with as many pushes at a time as Apple allows. If all
// are busy, pushes wait. A new connection has one push until the first answer, because Apple allows
// one stream before it has seen a token. After 15 seconds of silence a connection is pinged, and
// closed if nothing comes within 5 seconds. A connection that Apple ends with a GOAWAY, or with the
// answers IdleTimeout and Shutdown, gets no more pushes, and is closed after its last answer.
//
// # The request
//
// POST /3/device/ and the device token. The headers are
//
//	apns-topic         the bundle id of the device's app; some push types have an ending
//	apns-push-type     alert; background if the push has neither text nor badge nor sound
//	apns-priority      10; 5 for a message of normal priority, background and liveactivity
//	apns-expiration    the message's expiry, or a day from now; at most 30 days
//	apns-collapse-id   the collapse key, or its hash if it does not fit; by default unique to the message
//	apns-id            a UUID that is the same at each attempt of a message to a device
//
// A push replaces one with the same apns-collapse-id on the device, so a second copy of a message
// replaces the first.
//
// # The payload
//
// It has at most 4,096 bytes, 5,120 for voip. Members that are empty are absent:
//
//	{
//	  "aps": {"alert": {"title": "…", "body": "…"}, "badge": 3, "sound": "bell.caf", "mutable-content": 1},
//	  "id": "order-17", "category": "orders", "send_at": "2026-11-22T11:11:11.000Z",
//	  "image": "https://…", "click_url": "https://…",
//	  "order": "17"
//	}
//
// Each key of the message's data is a member, and replaces one above with the same name; aps is
// reserved. A push with an image has mutable-content: the app's notification service extension
// loads the image. The app opens click_url itself. A background push has content-available.
//
// A message's additions for this channel are an object:
//
//	push_type     alert, background, complication, controls, fileprovider, liveactivity,
//	              location, pushtotalk, voip, widgets
//	topic         another bundle id of Config instead of the app's; the ending of the push type is
//	              added if it is missing
//	priority      1, 5 or 10
//	expiration    Unix time in seconds; 0 to try once
//	collapse_id   at most 64 ASCII characters
//	payload       a merge patch (RFC 7396) for the payload with aps: null removes a member
//
// A live activity is updated with
//
//	{"push_type": "liveactivity", "payload": {"aps": {"event": "update", "alert": null, "content-state": {…}}}}
//
// to the activity's own token. Its timestamp is the message's send time unless payload names one.
//
// # The answer
//
// Apple's reason decides. If the message chose the topic, or a push type whose topic has an ending,
// BadDeviceToken, DeviceTokenNotForTopic, BadTopic, MissingTopic and TopicDisallowed are permanent:
// the message is wrong, not the device or the credentials.
//
//	200                                                        delivered; apns-id is the receipt
//	BadDeviceToken, DeviceTokenNotForTopic                     gone, mismatched
//	Unregistered, ExpiredToken                                 gone, since the timestamp
//	BadCollapseId, BadExpirationDate, BadMessageId,            permanent, rejected
//	BadPriority, DuplicateHeaders, InvalidPushType,
//	PayloadEmpty, MissingDeviceToken, BadPath,
//	MethodNotAllowed
//	PayloadTooLarge                                            permanent, too_large
//	BadTopic, MissingTopic, TopicDisallowed,                   refused, unauthorized
//	BadCertificate, BadCertificateEnvironment, Forbidden,
//	InvalidProviderToken, MissingProviderToken,
//	BadEnvironmentKeyIdInToken, BadEnvironmentKeyInToken
//	ExpiredProviderToken                                       sent again with a new token, if there is
//	                                                           one; else slow down, unavailable: the
//	                                                           message. This worker's clock is wrong
//	UnrelatedKeyIdInToken                                      the connections are closed, and it is
//	                                                           sent again on a new one; then as above
//	TooManyProviderTokenUpdates                                sent again with the previous token, if
//	                                                           it is still valid; then slow down,
//	                                                           rate_limited: the message. No new token
//	                                                           for 20 minutes
//	TooManyRequests                                            slow down, rate_limited: the device, or
//	                                                           the channel
//	InternalServerError                                        retry, unavailable
//	ServiceUnavailable                                         slow down, unavailable: the channel
//	IdleTimeout, Shutdown                                      at once on another connection, three
//	                                                           times; then retry, unavailable
//
// With an unknown reason the status decides: 401 and 403 are refused, 413 is too large, 408 and 425
// are retried, 429 slows the device down and 503 the channel, 3xx is redirected, other 4xx are
// rejected, and everything else is retried. A status never means that a device is gone.
//
// A 429 is about one device, until three devices got one and Apple accepted nothing in between: then
// it is about the channel.
//
// A SlowDown lasts as long as Retry-After says, at most an hour. Without one, a device or a message
// waits a minute. The channel waits 10 seconds, and twice as long each time it is busy again, up to
// 10 minutes. All pauses are spread by a tenth.
//
// # Without an answer
//
// A push whose stream was refused, or is above the last one of a GOAWAY, was certainly not
// processed. It is sent again at once, at most five times, and then is a retry, unreachable. A push
// that waited for a connection in vain is one, too. For other failures see package exchange.
//
// # What it does not do
//
// It uses neither a proxy nor certificates, and has no broadcast channels.
package apns
