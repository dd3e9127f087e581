package reload

import (
	"context"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Options configures a Channel.
type Options = Of[notifier.Notifier]

// Channel is a Notifier that follows its file. It is a Checker, a Prober, an Identifier and a Hoster, too. If
// the current channel is not, it finds nothing wrong.
type Channel struct{ *follower[notifier.Notifier] }

// New opens the channel, and follows the file until Close. The error is that of reading the file or
// of Open.
func New(ctx context.Context, o Options) (*Channel, error) {
	f, err := begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Channel{f}, nil
}

// Notify delivers n with the current channel.
func (c *Channel) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	return (*c.current.Load()).Notify(ctx, n)
}

// Check checks n with the current channel.
func (c *Channel) Check(n notifier.Notification) error {
	if checker, ok := (*c.current.Load()).(notifier.Checker); ok {
		return checker.Check(n)
	}
	return nil
}

// Probe probes the current channel.
func (c *Channel) Probe(ctx context.Context) notifier.Result {
	if prober, ok := (*c.current.Load()).(notifier.Prober); ok {
		return prober.Probe(ctx)
	}
	return notifier.Result{Status: notifier.Delivered}
}

// Identity returns the identity of the current channel.
func (c *Channel) Identity() string {
	if identifier, ok := (*c.current.Load()).(notifier.Identifier); ok {
		return identifier.Identity()
	}
	return ""
}

// HostOf returns the host of an address, at the current channel.
func (c *Channel) HostOf(address string) string {
	if hoster, ok := (*c.current.Load()).(notifier.Hoster); ok {
		return hoster.HostOf(address)
	}
	return ""
}
