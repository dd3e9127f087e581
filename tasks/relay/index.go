package relay

import (
	"context"
	"errors"
	"time"
)

// sweepIndex removes the entries of expired records from the index of messages, if no relay
// did so for a while.
func (r *Relay) sweepIndex(ctx context.Context, every time.Duration) error {
	mine, err := r.Index.Turn(ctx, every)
	if err != nil || !mine {
		return err
	}
	if _, err := r.Index.Sweep(ctx, r.throttle); err != nil {
		return errors.Join(err, r.Index.GiveBack(ctx))
	}
	return nil
}
