package precheck

import (
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

// Setup is what is known of the settings of the channels. The zero Setup knows nothing.
type Setup struct {
	APNsTopics []string // as in apns.Check; nil if they are not known
	// WebPush reports whether WebPushHosts is known, which is webpush.Config.Hosts.
	WebPush      bool
	WebPushHosts []string
}

// Check returns a *notifier.InvalidError if the channel with this name could never deliver n.
// A channel that has no bounds of its own, or is not known, could. The present time is now.
func (s Setup) Check(channel string, n notifier.Notification, now time.Time) error {
	switch channel {
	case notifier.ChannelFCM:
		return fcm.Check(n, now)
	case notifier.ChannelAPNs:
		return apns.Check(n, s.APNsTopics, now)
	case notifier.ChannelWebPush:
		return webpush.Check(n, now)
	default:
		return nil
	}
}

// CheckAddress returns a *notifier.InvalidError if the channel with this name never delivers to a
// device's address, since it is of no service that the channel pushes to. Other channels than
// webpush have one service.
func (s Setup) CheckAddress(channel, address string) error {
	if channel == notifier.ChannelWebPush && s.WebPush {
		return webpush.CheckAddress(s.WebPushHosts, address)
	}
	return nil
}
