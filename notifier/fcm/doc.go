// Package fcm is the channel of Firebase Cloud Messaging (HTTP v1 API): apps on Android and iOS,
// and browsers that subscribed through Firebase. The Address of a device is its registration token.
//
// # Credentials
//
// A service account's key signs a request for a bearer token, which is valid for an hour. It is
// renewed 5 minutes before its end, once for all deliveries, which use the old one meanwhile.
// golang-jwt signs the request: golang.org/x/oauth2 sends without a context, uses the system's time
// and reports errors with the URL.
//
// # The request
//
//	{"message": {
//	  "token": "…",
//	  "notification": {"title": "…", "body": "…", "image": "https://…"},
//	  "data": {"order": "17", "click_url": "https://…"},
//	  "android": {
//	    "priority": "HIGH", "ttl": "3600s", "collapse_key": "…",
//	    "notification": {"sound": "…", "tag": "…", "notification_count": 3}
//	  },
//	  "apns": {
//	    "headers": {"apns-priority": "10", "apns-expiration": "1795345871", "apns-collapse-id": "…"},
//	    "payload": {"aps": {"badge": 3, "sound": "…"}}
//	  },
//	  "webpush": {
//	    "headers": {"TTL": "3600", "Urgency": "high", "Topic": "…"},
//	    "fcm_options": {"link": "https://…"}
//	  }
//	}}
//
// Empty fields are absent. Apps find the click_url in the data, because a click_action on Android
// would be the name of an intent. The collapse key is the message's, by default its idempotency
// key, so that a second copy replaces the first. FCM keeps messages of at most 4 collapse keys for
// an offline Android device. If more of them must arrive, remove the key with {"android":
// {"collapse_key": null}}.
//
// A message's additions for this channel are an object in FCM's format, a merge patch (RFC 7396):
// null removes a member. It can't have a target, nor a topic or credentials in the headers of a
// platform. With a live_activity_token, a restricted_package_name or an apns-push-type other than
// alert and background, FCM looks for something other than the device: gone becomes permanent,
// mismatched, and a THIRD_PARTY_AUTH_ERROR is retried.
//
// A payload has at most 4,096 bytes: the JSON of notification and data, and of those of the
// platform that adds most.
//
// # The answer
//
//	2xx                                         delivered; the name is the provider's id
//	3xx                                         permanent, redirected; never followed
//	400 that says "too big"; 413                permanent, too_large
//	400 that blames the registration token      gone, if the message is fine; else permanent
//	other 400                                   permanent, rejected; the error names the field
//	401 THIRD_PARTY_AUTH_ERROR                  slow down, unavailable: the device, for a minute
//	other 401                                   sent again with a new token; then refused, unauthorized
//	403 SENDER_ID_MISMATCH                      gone, mismatched
//	other 403                                   refused, unauthorized
//	404 UNREGISTERED                            gone
//	other 404                                   refused, misaddressed
//	408, 425                                    retry, unavailable
//	429                                         slow down, rate_limited: see below
//	500 INTERNAL                                retry, unavailable, after 10 seconds or more
//	503 UNAVAILABLE, or with Retry-After        slow down, unavailable: the channel
//	other 5xx                                   retry, unavailable
//	other 4xx                                   permanent, rejected
//
// To learn whether the registration token or the message is malformed, FCM validates the same
// message to a topic, without sending it. The device is gone only if that passes. A message to a
// topic has at most 2,048 bytes: a larger one is permanent.
//
// A 429 names the exhausted quota: the project's pauses the channel, a device's the device, and a
// topic's the message. One without a name is the device's, until three devices got it and FCM
// accepted nothing in between: then it is the project's. Without a Retry-After a pause is a minute,
// and for a 503 10 seconds. It doubles up to an hour if the next one follows within its own length.
//
// THIRD_PARTY_AUTH_ERROR means that the project's key for APNs or Web Push is missing or wrong.
// This stops iPhones or browsers, and not Android: the channel continues, the attempt does not
// count, and nothing is dropped. Each of the devices waits for a minute.
//
// # Without a token
//
//	the token endpoint gave no answer           retry, unreachable: nothing was sent
//	4xx                                         refused, unauthorized
//	4xx about iat and exp                       slow down: the message. This worker's clock is wrong
//	429, 5xx                                    slow down: the channel
//	3xx, or a success without a token           refused, misaddressed
//
// # Connections
//
// At most 8 connections are kept to a host. Over HTTP/2 each has as many pushes as FCM allows,
// usually 100. No proxy is used.
package fcm
