package relay

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/quota"
)

// settleCharges settles charges that were left open: their program died, or the store was
// away. Any number of relays may do so at once: only one settles a charge.
func (r *Relay) settleCharges(ctx context.Context) error {
	for {
		due, unread := r.Charges.Due(ctx, r.Clock.Now(), perPartition)
		if len(due) == 0 {
			return unread
		}
		settled, err := r.settleDue(ctx, due)
		if err = errors.Join(unread, err); err != nil || settled == 0 {
			return err
		}
	}
}

// settleDue looks after charges, several at a time. It returns how many need no second
// look, and the first error.
func (r *Relay) settleDue(ctx context.Context, due []quota.DueHold) (int, error) {
	var settled atomic.Int64
	var failed error
	var once sync.Once
	var workers sync.WaitGroup
	entries := make(chan quota.DueHold)
	for range min(together, len(due)) {
		workers.Go(func() {
			for entry := range entries {
				end, notices, err := r.Charges.Resolve(ctx, entry, time.Time{})
				r.Queue.EnqueueNotices(ctx, notices, r.Logger)
				switch {
				case err != nil:
					once.Do(func() { failed = err })
				case end != quota.HoldOpen: // otherwise the next pass looks again
					settled.Add(1)
					r.Metrics.ChargeSettled(end)
				}
			}
		})
	}
	for _, entry := range due {
		if ctx.Err() != nil {
			break
		}
		entries <- entry
	}
	close(entries)
	workers.Wait()
	if settled.Load() > 0 {
		r.Logger.InfoContext(ctx, "settled charges that were left open", "charges", settled.Load())
	}
	return int(settled.Load()), errors.Join(failed, ctx.Err())
}
