// Package channelcheck checks messages and devices for the channels, without credentials and
// without a request. At submit it checks whether a message is small enough for each provider, and
// whether its settings for a channel are valid. At registration it checks whether the channel
// delivers to the device's address. Channels check the same at delivery.
//
// It joins packages submit and device, which know no channel, and the channels, which know no
// message. A channel with devices has a pure function Check, such as webpush.Check, and a case in
// Checks.
package channelcheck
