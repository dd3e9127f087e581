package notifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ByContact is the Announcer that goes by what a contact is: an https: URL is
// the Webhook's, everything else the Email's. One that is nil is a kind of
// contact that nothing is set up for: its notices are a Retry with ErrNoChannel.
type ByContact struct {
	Email, Webhook Announcer
}

// Announce hands n to the Announcer of the contact.
func (b ByContact) Announce(ctx context.Context, to string, n Notice) Result {
	channel, kind := b.Email, "an e-mail address"
	if IsURL(to) {
		channel, kind = b.Webhook, "a URL"
	}
	if channel == nil {
		return Result{Status: Retry, Reason: ReasonUnreachable, Err: fmt.Errorf("the contact is %s: %w", kind, ErrNoChannel)}
	}
	return channel.Announce(ctx, to, n)
}

// Close closes those of the two that can be closed.
func (b ByContact) Close() error {
	var problems []error
	for _, channel := range []Announcer{b.Email, b.Webhook} {
		if closer, ok := channel.(io.Closer); ok {
			problems = append(problems, closer.Close())
		}
	}
	return errors.Join(problems...)
}

// IsURL says whether a contact is an https: URL rather than an e-mail address.
// Whether it is a sound one is for the channel to say.
func IsURL(contact string) bool {
	scheme, _, found := strings.Cut(contact, ":")
	return found && strings.EqualFold(scheme, "https")
}
