// Package devices keeps where a user's messages go: apps on phones, and browsers.
//
// # Format
//
// All devices of a user are one STRING in the user's partition, so that a claim reads them with
// one GET. Each is a line, oldest first; a newline stands between two. A line has eight
// fields, with one space between two. A field may be empty, and none has a space:
//
//	id          1 to 64 of A-Z a-z 0-9 . _ -
//	channel     f fcm, a apns, w webpush; a capital if the device is suspect
//	registered  when it was registered last, Unix seconds in base 36
//	success     the hour of its last success, Unix hours in base 36; "" for none
//	app         "" if the user has only one
//	locale      "" for unknown
//	account     the account that registered it; "" for none
//	address     printable ASCII; JSON for webpush
//
// A script reads a line with the pattern
// '^(%S+) (%a) (%w+) (%w*) (%S*) (%S*) (%S*) (%S+)$'.
package devices
