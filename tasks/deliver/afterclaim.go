package deliver

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// zoneAfter is the delay of a message that could not be moved to another time zone.
const zoneAfter = time.Second

var errOtherZone = errors.New("the time zone of the user has changed")

// followZone moves a message to another time zone.
func (h *Handler) followZone(ctx context.Context, d messages.Delivery) error {
	err := h.FollowZone(ctx, d.User, d.ID)
	if err == nil {
		return nil
	}
	h.Logger.WarnContext(ctx, "a message waits until it can be moved to another time zone", "id", d.ID, "error", err)
	return &queue.AgainError{After: zoneAfter, Cause: errOtherZone}
}

// place sets the timers of the late messages that a claim postponed, and counts the dropped ones.
func (h *Handler) place(ctx context.Context, claim messages.Claim) {
	h.Queue.EnqueueNotices(ctx, claim.Notices, h.Logger)
	for _, p := range claim.Placed {
		h.Metrics.Postponed()
		h.Activity.Postponed(claim.Now)
		h.Logger.DebugContext(ctx, "postponed a late message", "id", p.ID, "from", p.From, "to", p.Due)
		h.Timers.Set(ctx, p.Timer, claim.Now)
	}
	for _, dropped := range claim.Dropped {
		h.countDrop(ctx, dropped.ID, dropped.Account, dropped.Reason, claim.Now, dropped.SendAt)
	}
}

func (h *Handler) countDrop(ctx context.Context, id, account, reason string, now, sendAt time.Time) {
	late := now.Sub(sendAt)
	if reason == messages.ReasonUncertain {
		h.Metrics.Uncertain()
		h.Activity.Failed(account, now, reason)
		h.Logger.WarnContext(ctx, "gave up a message that may or may not have arrived", "id", id, "late", late)
		return
	}
	h.Metrics.Dropped(reason)
	h.Activity.Dropped(account, now, reason)
	h.Logger.WarnContext(ctx, "dropped a message", "id", id, "reason", reason, "late", late)
}
