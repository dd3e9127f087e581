// Package apns is the channel of Apple's devices: the Apple Push Notification service, over
// HTTP/2 with a provider token.
//
// # The provider token
//
// It is a JWT that is signed with the team's key, and accepted by Apple for 60 minutes. Apple
// refuses to see another one within 20 minutes, and does not say whether that is per connection
// or per key. So all programs with the same key use the same token, without a word between them:
// it is issued at multiples of 35 minutes, and signed as RFC 6979 says, without randomness. A
// program that began shortly before such a time may show Apple the next token too soon; then all
// use the former one for 20 minutes more. If Apple says that the present one has expired, a clock
// is wrong.
//
// # Connections
//
// There are at most Config.Connections, each with as many pushes at a time as Apple allows. If
// all are busy, pushes wait. A new connection takes one push until it has answered: Apple allows
// one stream before it has seen a token. After 15 seconds of silence a connection is pinged, and
// closed if nothing comes within 5 seconds. A connection that Apple ends with a GOAWAY, or with
// the answers IdleTimeout and Shutdown, takes no more pushes, and is closed with its last answer.
//
// # The request
//
// POST /3/device/ and the device token. The headers are
//
//	apns-topic         the bundle id of the device's app; some push types have an ending
//	apns-push-type     alert; background if the push has neither text nor badge nor sound
//	apns-priority      10; 5 for a message of normal priority, background and liveactivity
//	apns-expiration    the message's expiry, or a day from now; at most 30 days
//	apns-collapse-id   the collapse key, or its hash if it does not fit; or the message's own
//	apns-id            a UUID that is the same at each attempt of a message to a device
//
// A push replaces one with the same apns-collapse-id on the device. So a second copy of a message
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
// Each key of the message's data is a member, in place of one above with the same name; aps is
// reserved. With an image there is mutable-content: the app's notification service extension
// loads the image. The app opens click_url itself. A background push has content-available.
//
// What a message says for this channel alone is an object:
//
//	push_type     alert, background, complication, controls, fileprovider, liveactivity,
//	              location, pushtotalk, voip, widgets
//	topic         in place of the app's, another one of Config; the ending of the push type is
//	              added if it lacks it
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
// It goes by the reason that Apple gives. If the message chose the topic, or a push type whose
// topic has an ending, BadDeviceToken, DeviceTokenNotForTopic, BadTopic, MissingTopic and
// TopicDisallowed are permanent: the fault is the message's, and neither the device's nor that of
// the credentials.
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
//	ExpiredProviderToken                                       once more with a new token, unless it
//	                                                           is the present one; then slow down,
//	                                                           unavailable: the message. This
//	                                                           worker's clock is wrong
//	UnrelatedKeyIdInToken                                      the connections are closed, and once
//	                                                           more on a new one; then as above
//	TooManyProviderTokenUpdates                                once more with the token before this
//	                                                           one, if that is still valid; then slow
//	                                                           down, rate_limited: the message. No new
//	                                                           token for 20 minutes
//	TooManyRequests                                            slow down, rate_limited: the device
//	InternalServerError                                        retry, unavailable
//	ServiceUnavailable                                         slow down, unavailable: the channel
//	IdleTimeout, Shutdown                                      at once on another connection, three
//	                                                           times; then retry, unavailable
//
// Without a reason that is known it goes by the status: 401 and 403 are refused, 413 is too large,
// 408 and 425 are retried, 429 slows the device down and 503 the channel, 3xx is redirected,
// other 4xx are rejected, and everything else is retried. No status alone says that a device is
// gone.
//
// A SlowDown lasts as long as Retry-After says, at most an hour. Without one, a device or a
// message waits a minute, and the channel 10 seconds, and twice as long each time it is busy
// again, up to 10 minutes. All are spread by a tenth.
//
// # Without an answer
//
// A push whose stream was refused, or is above the last one of a GOAWAY, was certainly not
// processed: it is sent again at once, five times at most, and then is a retry, unreachable. So is
// one that waited for a connection or a stream in vain. What else may happen see package exchange.
//
// # What it does not do
//
// It uses no proxy and no certificates in place of the token, and has no broadcast channels.
package apns
