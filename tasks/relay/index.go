package relay

import (
	"context"
	"errors"
	"time"
)

// sweepIndex removes the entries of expired records from the index of messages, finds messages
// that nobody looks after, and counts the devices of accounts anew, if no relay did so for a while.
func (r *Relay) sweepIndex(ctx context.Context, every time.Duration) error {
	mine, err := r.Index.Turn(ctx, every)
	if err != nil || !mine {
		return err
	}
	swept, err := r.Index.Sweep(ctx, r.Watch, r.throttle)
	if swept.Watched > 0 {
		r.Logger.WarnContext(ctx, "found messages that nobody looked after: they go on", "messages", swept.Watched)
	}
	if err == nil {
		err = r.Devices.Sweep(ctx, r.throttle)
	}
	if err != nil {
		return errors.Join(err, r.Index.GiveBack(ctx))
	}
	return nil
}
