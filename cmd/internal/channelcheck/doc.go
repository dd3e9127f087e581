// Package channelcheck checks at submit whether the channels that a message goes to could
// deliver it, without their credentials and without a request: whether it is small enough for the
// provider, and whether what it says for that channel alone is allowed. At the registration of a
// device it checks whether its channel delivers to its address. Channels check the same at delivery.
//
// It joins packages submit and device, which know no channel, and the channels, which know no
// message. A channel with devices has a pure function Check for it, as webpush.Check, and a case
// in Checks.
package channelcheck
