// Package channelcheck checks at submit whether the channels that a message goes to could
// deliver it. It is what joins package submit, which knows no channel, and package precheck of
// the notifier, which knows no message.
package channelcheck
