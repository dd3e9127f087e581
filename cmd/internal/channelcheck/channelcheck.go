package channelcheck

import (
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Checks are the checks of a program. It skips what the settings do not say, since other programs
// may deliver.
type Checks struct {
	topics  []string // of APNs; nil if they are not known
	webPush bool     // whether hosts is known
	hosts   []string // of Web Push
}

// New returns the checks of a program with these settings.
func New(c config.Config) Checks {
	return Checks{topics: c.APNs.AllTopics(), webPush: c.WebPush.Set() || len(c.WebPush.Hosts) > 0, hosts: c.WebPush.Hosts}
}

// Message is the submit.Options.CheckChannel of the programs. The error is a *fault.InvalidError
// that names the field, such as channels.webpush.urgency, or "message" for a message that is too
// large.
func (c Checks) Message(channel string, m message.Message) error {
	now := time.Now()
	n := notificationOf(channel, m, now)
	switch channel {
	case notifier.ChannelFCM:
		return asFault(fcm.Check(n, now))
	case notifier.ChannelAPNs:
		return asFault(apns.Check(n, c.topics, now))
	case notifier.ChannelWebPush:
		return asFault(webpush.Check(n, now))
	default:
		return nil
	}
}

// Device is the device.Check of the programs: it reports whether the channel delivers to an
// address. Only webpush may push to more than one service. The error is a *fault.InvalidError about
// the field address.
func (c Checks) Device(channel, address string) error {
	if channel == notifier.ChannelWebPush && c.webPush {
		return asFault(webpush.CheckAddress(c.hosts, address))
	}
	return nil
}

func asFault(err error) error {
	if invalid, ok := errors.AsType[*notifier.InvalidError](err); ok {
		return &fault.InvalidError{Field: invalid.Field, Value: invalid.Value, Want: invalid.Want}
	}
	return err
}

// notificationOf returns the notification of a message for a channel.
func notificationOf(channel string, m message.Message, now time.Time) notifier.Notification {
	n := notifier.Notification{
		ID: m.ID, User: m.User, Category: m.Category, Title: m.Title, Body: m.Body, Data: m.Data,
		Image: m.Image, ClickURL: m.ClickURL, Badge: m.Badge, Sound: m.Sound,
		Priority: notifier.Priority(m.Priority), CollapseKey: m.CollapseKey, Override: m.Channels[channel],
		Campaign: m.Campaign, Metadata: m.Metadata, ExpiresAt: m.ExpiresAt, SendAt: m.SendAt, Attempt: 1,
		IdempotencyKey: notifier.IdempotencyKey(m.Account, m.User, m.ID),
	}
	if n.SendAt.IsZero() {
		n.SendAt = now
	}
	return n
}
