package deliver

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
)

// claim claims a message. It also returns how long the answer took: the answer may be
// that old.
func (h *Handler) claim(ctx context.Context, d messages.Delivery) (messages.Claim, time.Duration, error) {
	sent := h.Clock.Local()
	claim, err := h.Gate.Claim(ctx, d, h.PushTimeout+h.Margin, time.Time{})
	received := h.Clock.Local()
	if err != nil {
		return claim, 0, err
	}
	h.Clock.OfUser(d.User).Learn(sent, received, claim.Now)
	return claim, received.Sub(sent), nil
}
