package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// freeLostPlaces frees the places of lost messages, if no relay did so for a while.
func (r *Relay) freeLostPlaces(ctx context.Context, every time.Duration) error {
	mine, err := r.Places.Turn(ctx, every)
	if err != nil || !mine {
		return err
	}
	freed, err := r.Places.Free(ctx, r.throttle, time.Time{})
	r.Metrics.LostPlaces(freed)
	if freed > 0 {
		r.Logger.WarnContext(ctx, "freed places whose messages are lost: the store had no records of them", "places", freed)
	}
	if err != nil {
		return errors.Join(err, r.Places.GiveBack(ctx))
	}
	return nil
}

// longestRest bounds a rest: calls that took longer were held up by something else.
const longestRest = time.Second

// throttle runs a batch, then rests for four times as long: nobody waits for the result.
func (r *Relay) throttle(ctx context.Context, batch func() error) error {
	began := r.Clock.Local()
	if err := batch(); err != nil {
		return err
	}
	if !storeclock.Sleep(ctx, nil, min(4*r.Clock.Local().Sub(began), longestRest)) {
		return fmt.Errorf("looking through the store: %w", ctx.Err())
	}
	return nil
}
