package channelcheck

import (
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/precheck"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Checks are the checks of a program. Make them with New.
type Checks struct{ setup precheck.Setup }

// New returns the checks of a program with these settings. What they do not say, since other
// programs deliver, is not checked.
func New(c config.Config) Checks {
	return Checks{precheck.Setup{
		APNsTopics: c.APNs.AllTopics(),
		WebPush:    c.WebPush.Set() || len(c.WebPush.Hosts) > 0, WebPushHosts: c.WebPush.Hosts,
	}}
}

// Message is the submit.Options.CheckChannel of the programs. The error is a *fault.InvalidError
// that names the field, such as channels.webpush.urgency, or "message" for one that is too
// large.
func (c Checks) Message(channel string, m message.Message) error {
	now := time.Now()
	return asFault(c.setup.Check(channel, notificationOf(channel, m, now), now))
}

// Device is the device.Check of the programs: whether the channel delivers to an address. The
// error is a *fault.InvalidError about the field address.
func (c Checks) Device(channel, address string) error {
	return asFault(c.setup.CheckAddress(channel, address))
}

func asFault(err error) error {
	if invalid, ok := errors.AsType[*notifier.InvalidError](err); ok {
		return &fault.InvalidError{Field: invalid.Field, Value: invalid.Value, Want: invalid.Want}
	}
	return err
}

// notificationOf returns the notification that the message becomes for a channel.
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
