// Package fcm is the channel of Firebase Cloud Messaging, by its HTTP v1 API: Android phones,
// and the iPhones and browsers that are registered there.
//
// # Credentials
//
// A service account of the Firebase project signs requests for a bearer token, which is valid
// for an hour. It is renewed five minutes before its end, by one request; pushes use the former
// one meanwhile. The exchange is RFC 7523 on net/http: the usual library follows no context,
// and puts the server's answer into its errors.
//
// # The request
//
// A message has the title, body and image as its notification, and the data. The click_url is
// data too, and the link of browsers if it is https. The time to live is from the expiry.
// A second copy replaces the first one on the device: by the tag on Android, apns-collapse-id
// on iPhones, and Topic in browsers, from the collapse key, or else the idempotency key. The
// collapse_key of Android is set only if the message has one: Google keeps at most four for a
// device that is offline, and lets few collapsible messages through.
//
// What a message says for this channel alone is an object that is merged into the message of
// the API, as RFC 7396 says: notification, data, android, apns, webpush, fcm_options. It can't
// change the target.
//
// # The answer
//
// The reason is in the FcmError of the answer's details. The status alone never means that a
// token is gone: a wrong project answers 404 for every token.
//
//	200                                              delivered; its name is kept
//	UNREGISTERED                                     gone
//	SENDER_ID_MISMATCH                               gone, mismatched
//	INVALID_ARGUMENT, the registration token         gone, if the message passes with another
//	                                                 target; else permanent, rejected
//	INVALID_ARGUMENT, other 400                      permanent, rejected; it names the field
//	THIRD_PARTY_AUTH_ERROR                           slow down, unavailable: the device, for
//	                                                 10 minutes
//	401 without FcmError                             another bearer token, once; then refused
//	403 without FcmError                             refused, unauthorized
//	404 without FcmError                             refused, misaddressed
//	QUOTA_EXCEEDED, 429                              slow down, rate_limited: the device, the
//	                                                 message (of a topic) or the channel
//	UNAVAILABLE, 503                                 slow down, unavailable: the channel
//	INTERNAL, other 5xx, 408, 425                    retry, unavailable, after 10 s or more
//	413                                              permanent, too_large
//	3xx                                              permanent, redirected; never followed
//	other 4xx                                        permanent, rejected
//
// THIRD_PARTY_AUTH_ERROR is about the key of one platform, such as APNs, that the project
// lacks. To refuse the channel would stop the other platforms, so the messages of these devices
// wait. Without a Retry-After, waits double: from a minute for a quota, from 10 s for a server
// that fails, up to an hour. Without an answer see package exchange.
package fcm
