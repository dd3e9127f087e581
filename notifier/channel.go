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

// Checker is a Notifier that can tell beforehand that its provider would refuse a message:
// because of its size or because of what the message says for this channel alone.
type Checker interface {
	// Check returns an *InvalidError that names the field, or nil. It makes no request. A
	// Notification without a Device is checked as far as no device matters.
	Check(n Notification) error
}

// Prober is a Notifier that can find out whether its provider accepts its credentials.
type Prober interface {
	// Probe sends nothing to any device. The Result is Delivered if the credentials are
	// right, and what Notify would return if not.
	Probe(ctx context.Context) Result
}

// Identifier is a Notifier that can tell whether it still uses the same credentials.
type Identifier interface {
	// Identity returns a text that changes with the project, the key or the environment, and
	// shows nothing secret of them.
	Identity() string
}
