package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// freeLostPlaces frees the places of lost messages.
func (r *Relay) freeLostPlaces(ctx context.Context, every time.Duration) error {
	return r.Turns.InTurn(ctx, keyspace.WorkPlaces, every, func() error {
		freed, err := r.Places.Free(ctx, r.throttle, time.Time{})
		r.tellFreed(ctx, freed.Places)
		return err
	})
}

// tellFreed reports how many places of lost messages were freed.
func (r *Relay) tellFreed(ctx context.Context, freed int) {
	r.Metrics.LostPlaces(freed)
	if freed > 0 {
		r.Logger.WarnContext(ctx, "freed places whose messages are lost: the store had no records of them", "places", freed)
	}
}

// sweepIndex removes the entries of expired records from the index of messages, finds messages
// that are missing in the watch list, and counts the devices of accounts again.
func (r *Relay) sweepIndex(ctx context.Context, every time.Duration) error {
	return r.Turns.InTurn(ctx, keyspace.WorkIndex, every, func() error {
		swept, err := r.Index.Sweep(ctx, r.Watch, r.throttle)
		if swept.Watched > 0 {
			r.Logger.WarnContext(ctx, "found messages that were missing in the watch list, and added them", "messages", swept.Watched)
		}
		if err != nil {
			return err
		}
		return r.Devices.Sweep(ctx, r.throttle)
	})
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

// rewriteLog makes a Redis that has started rewrite its log, see store.RewriteLogs. It warns once
// if Redis does not permit that.
func (r *Relay) rewriteLog(ctx context.Context) error {
	asked, err := store.RewriteLogs(ctx, r.Client, r.Keys)
	if asked > 0 {
		r.Logger.InfoContext(ctx, "Redis has started: it rewrites its append-only file, which may end within a transaction", "servers", asked)
	}
	if errors.Is(err, store.ErrNoRewrite) {
		if r.mayNotRewrite {
			return nil
		}
		r.mayNotRewrite = true
	}
	return err
}
