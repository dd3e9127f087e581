// Package channelcheck checks at submit whether the channels that a message goes to could
// deliver it, and at the registration of a device whether its channel delivers to its address. It
// is what joins packages submit and device, which know no channel, and package precheck of the
// notifier, which knows no message.
package channelcheck
