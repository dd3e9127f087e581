package notifier

import "context"

// The names of the channels.
const (
	ChannelLog     = "log"
	ChannelWebhook = "webhook"
	ChannelFCM     = "fcm"
	ChannelAPNs    = "apns"
	ChannelWebPush = "webpush"
	ChannelService = "service"
)

// Channels returns the names of all channels.
func Channels() []string {
	return []string{ChannelLog, ChannelWebhook, ChannelFCM, ChannelAPNs, ChannelWebPush, ChannelService}
}

// Checker is a Notifier that can find a message that its provider would refuse: one that is too
// large or whose additions for this channel are wrong.
type Checker interface {
	// Check returns an *InvalidError that names the field, or nil. It makes no request. A
	// Notification without a Device is checked without what depends on the device.
	Check(n Notification) error
}

// Prober is a Notifier that can check whether its provider accepts its credentials.
type Prober interface {
	// Probe sends nothing to any device. The Result is Delivered if the credentials are right,
	// otherwise what Notify would return.
	Probe(ctx context.Context) Result
}

// Identifier is a Notifier that identifies its credentials.
type Identifier interface {
	// Identity returns a text that changes with the project, the key or the environment, and shows
	// no secret.
	Identity() string
}

// Hoster is a Notifier whose devices are at several hosts, each with limits of its own.
type Hoster interface {
	// HostOf returns the host that gets the pushes to an address; "" for none.
	HostOf(address string) string
}
