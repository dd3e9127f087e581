package reload

import (
	"context"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Announcer is a notifier.Announcer that follows its file.
type Announcer struct{ *follower[notifier.Announcer] }

// NewAnnouncer opens the channel, and follows the file until Close. The error is that of reading
// the file or of Open.
func NewAnnouncer(ctx context.Context, o Of[notifier.Announcer]) (*Announcer, error) {
	f, err := begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Announcer{f}, nil
}

// Announce delivers n with the current channel.
func (a *Announcer) Announce(ctx context.Context, to string, n notifier.Notice) notifier.Result {
	return (*a.current.Load()).Announce(ctx, to, n)
}
