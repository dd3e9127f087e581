package notifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ByContact is an Announcer that uses Webhook for an https: URL and Email for any other contact. If
// that one is nil, the result is a Retry with ErrNoChannel.
type ByContact struct {
	Email, Webhook Announcer
}

// Announce sends n with the Announcer for the contact.
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

// Close closes both, if they are io.Closers.
func (b ByContact) Close() error {
	var problems []error
	for _, channel := range []Announcer{b.Email, b.Webhook} {
		if closer, ok := channel.(io.Closer); ok {
			problems = append(problems, closer.Close())
		}
	}
	return errors.Join(problems...)
}

// IsURL reports whether a contact is an https: URL, not an e-mail address. It does not validate the
// URL.
func IsURL(contact string) bool {
	scheme, _, found := strings.Cut(contact, ":")
	return found && strings.EqualFold(scheme, "https")
}
