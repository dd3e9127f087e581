package relay

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/records/quota"
)

// settleCharges settles open charges: their program died, or the store was
// away. Any number of relays may do so at once: only one settles a charge.
func (r *Relay) settleCharges(ctx context.Context) error {
	var settled atomic.Int64
	err := each(ctx, func(perPartition int) ([]quota.DueCall, error) {
		return r.Charges.Due(ctx, r.Clock.Now(), perPartition)
	}, func(due []quota.DueCall) iter.Seq[[]quota.DueCall] {
		return slices.Chunk(due, 1)
	}, func(due []quota.DueCall) ([]quota.DueCall, error) {
		ends, notices, err := r.Charges.Resolve(ctx, due[0], time.Time{})
		r.Queue.EnqueueNotices(ctx, notices, r.Logger)
		for _, end := range ends {
			if end == quota.HoldOpen {
				continue
			}
			settled.Add(1)
			r.Metrics.ChargeSettled(end)
		}
		if err != nil || slices.Contains(ends, quota.HoldOpen) {
			return due, err
		}
		return nil, nil
	}, func() error { return nil })
	if settled.Load() > 0 {
		r.Logger.InfoContext(ctx, "settled open charges", "charges", settled.Load())
	}
	return err
}
