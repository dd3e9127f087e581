// Package precheck says whether a channel could ever deliver a notification, without its
// credentials and without a request: whether it is small enough for the provider, and whether
// what it says for that channel alone is allowed. A Setup has what is known of the channels.
//
// Who accepts messages calls Setup.Check, so that a message that no provider takes is refused when
// it is submitted. Channels check the same at delivery. A channel with devices has a pure function
// Check for it, as webpush.Check, and a case in Setup.Check. Who registers devices calls
// Setup.CheckAddress.
package precheck
