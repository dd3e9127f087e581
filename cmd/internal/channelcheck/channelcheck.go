package channelcheck

import (
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/precheck"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Check is the submit.Options.CheckChannel of the programs. The error is a *fault.InvalidError
// that names the field, such as channels.webpush.urgency, or "message" for one that is too
// large.
func Check(channel string, m message.Message) error {
	now := time.Now()
	err := precheck.Check(channel, notificationOf(channel, m, now), now)
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
