// Package apns is the channel of Apple's devices: the Apple Push Notification service, over
// HTTP/2 with a provider token.
//
// # The provider token
//
// It is signed with the .p8 key, used for 50 minutes and never replaced sooner than after 20:
// Apple refuses tokens that are older than an hour, and keys whose tokens change more often.
// There is one for all connections.
//
// # Connections
//
// Config.Connections bounds those that take pushes. They are opened as pushes need them, and
// kept. Each respects the server's limit of concurrent streams: further pushes wait. A
// connection that is silent for 15 seconds has to answer a ping within 5. After a GOAWAY a
// connection ends the pushes that the server took, and the others are sent on a new one at
// once.
//
// # The request
//
//	apns-topic        Config.Topics or Config.Topic, and what the push type asks for after it
//	apns-push-type    alert; background without title, body, badge and sound
//	apns-id           a UUID of the idempotency key and the device, the same at every attempt
//	apns-expiration   from ExpiresAt; absent if that is not known, 0 if it is in the past
//	apns-priority     10; 5 for PriorityNormal and background
//	apns-collapse-id  the collapse key, or else the idempotency key; a hash of a collapse key of
//	                  more than 64 bytes or with anything but printable ASCII
//
// A push replaces one with the same collapse id on the device. So a message that was sent twice
// is shown once.
//
// # The payload
//
// Members that are empty are absent:
//
//	{
//	  "aps": {
//	    "alert": {"title": "…", "body": "…"}, "badge": 3, "sound": "default",
//	    "mutable-content": 1, "content-available": 1
//	  },
//	  "order": "17",
//	  "image": "https://…", "click_url": "https://…"
//	}
//
// Members of the message's data stand beside aps, and can't have its name. The message's own
// image and click_url replace data of these names. mutable-content is there with an image, so
// that a notification service extension can load it, and content-available with a push of type
// background. A payload has at most 4,096 bytes, or 5,120 of type voip.
//
// What a message says for this channel alone is an object:
//
//	push_type     alert, background, voip, complication, fileprovider, location, liveactivity,
//	              pushtotalk, widgets or controls
//	priority      1, 5 or 10
//	topic_suffix  what follows the bundle id in the topic, in place of what the push type asks for
//	payload       a JSON merge patch (RFC 7396) onto the payload above
//
// A Live Activity is updated by a push to the activity's own token, which is a device like any
// other:
//
//	{"push_type": "liveactivity",
//	 "payload": {"aps": {"event": "update", "timestamp": 1795345871, "content-state": {"stops": 2}}}}
//
// Its topic ends in .push-type.liveactivity, and its priority is 5 unless the message's is high.
//
// # The answer
//
//	200                                                  delivered; apns-id is the receipt
//	400 BadDeviceToken, DeviceTokenNotForTopic           gone, mismatched
//	400 BadCollapseId, BadExpirationDate, BadMessageId,  permanent, rejected
//	    BadPriority, DuplicateHeaders, InvalidPushType,
//	    PayloadEmpty, MissingDeviceToken; others
//	400 BadTopic, MissingTopic, TopicDisallowed          refused, misaddressed
//	400 IdleTimeout, 503 Shutdown                        on a new connection at once, then retry, unavailable
//	403 ExpiredProviderToken                             with a new token at once, then refused, unauthorized
//	403 UnrelatedKeyIdInToken                            on new connections at once, then refused, unauthorized
//	403 BadCertificate, BadCertificateEnvironment,       refused, unauthorized
//	    Forbidden, InvalidProviderToken,
//	    MissingProviderToken, BadEnvironmentKeyInToken,
//	    BadEnvironmentKeyIdInToken; others; 401
//	404 BadPath, 405 MethodNotAllowed; other 4xx         permanent, rejected
//	410 Unregistered, ExpiredToken; unknown reasons      gone, since its timestamp
//	410 without a reason                                 permanent, rejected
//	413                                                  permanent, too_large
//	429 TooManyProviderTokenUpdates                      slow down, rate_limited: the message, 1 minute
//	429 TooManyRequests; others                          slow down, rate_limited: the device, 1 minute
//	500; 408, 425 and other 5xx                          retry, unavailable
//	503 ServiceUnavailable; others                       slow down, unavailable: the channel, 10 seconds
//	3xx                                                  refused, misaddressed; never followed
//
// A Retry-After of up to an hour replaces the times above. Each is spread by up to a tenth.
// After TooManyProviderTokenUpdates the token is kept for 20 minutes at least. A token younger
// than 20 minutes that is said to have expired is refused: one of the two clocks is wrong.
//
// If the message chose another topic, by its push type or topic_suffix, then a refused topic or
// a device token of another topic is the message's fault: permanent. Without an answer see
// package exchange.
//
// # What it does not do
//
// It has no client certificates, sends no broadcasts to channels of Live Activities, and uses
// no proxy. Workers don't share tokens: each signs its own.
package apns
