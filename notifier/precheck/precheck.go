package precheck

import (
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

// Check returns a *notifier.InvalidError if the channel with this name could never deliver n.
// A channel that has no bounds of its own, or is not known, could. The present time is now.
func Check(channel string, n notifier.Notification, now time.Time) error {
	switch channel {
	case notifier.ChannelFCM:
		return fcm.Check(n, now)
	case notifier.ChannelAPNs:
		return apns.Check(n, now)
	case notifier.ChannelWebPush:
		return webpush.Check(n, now)
	default:
		return nil
	}
}
