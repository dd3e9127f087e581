package relay

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/records/quota"
)

// settleCharges settles charges that were left open: their program died, or the store was
// away. Any number of relays may do so at once: only one settles a charge.
func (r *Relay) settleCharges(ctx context.Context) error {
	var settled atomic.Int64
	err := each(ctx, func(perPartition int) ([]quota.DueHold, error) {
		return r.Charges.Due(ctx, r.Clock.Now(), perPartition)
	}, func(due []quota.DueHold) iter.Seq[[]quota.DueHold] {
		return slices.Chunk(due, 1)
	}, func(due []quota.DueHold) ([]quota.DueHold, error) {
		end, notices, err := r.Charges.Resolve(ctx, due[0], time.Time{})
		r.Queue.EnqueueNotices(ctx, notices, r.Logger)
		if err != nil || end == quota.HoldOpen {
			return due, err
		}
		settled.Add(1)
		r.Metrics.ChargeSettled(end)
		return nil, nil
	}, func() error { return nil })
	if settled.Load() > 0 {
		r.Logger.InfoContext(ctx, "settled charges that were left open", "charges", settled.Load())
	}
	return err
}
