package logline

import (
	"context"

	"github.com/sendlimit/sendlimiter/notifier"
)

type noticeLine struct {
	To          string          `json:"to"`
	Notice      notifier.Notice `json:"notice"`
	DeliveredAt string          `json:"delivered_at"` // in notifier.TimeLayout
}

// Announce writes the line of n, with "to", "notice" and "delivered_at". Its results are those of
// Notify.
func (l *Notifier) Announce(ctx context.Context, to string, n notifier.Notice) notifier.Result {
	return l.deliver(ctx, func(at string) any { return noticeLine{to, n, at} })
}
