package deliver

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Follow loads the pace now, and then once a second until the returned function is
// called. It returns an error if the first load fails.
func (p *Pacer) Follow(ctx context.Context) (stop func(), err error) {
	if err := p.look(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	following.Go(func() {
		for storeclock.Sleep(ctx, nil, lookAtPace) {
			if err := p.look(ctx); err != nil && ctx.Err() == nil {
				// The known pace stays: without the store nothing is delivered anyway.
				p.logger.DebugContext(ctx, "could not look at the pace", "error", err)
			}
		}
	})
	return func() {
		cancel()
		following.Wait()
	}, nil
}

// look loads the pace from the store.
func (p *Pacer) look(ctx context.Context) error {
	p.mu.Lock()
	pauses := p.pauses
	p.mu.Unlock()
	state, err := p.store.Load(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if state.Pace != p.pace {
		if p.bucket, err = p.bucketOf(state.Pace); err != nil {
			return err
		}
		p.logger.InfoContext(ctx, "pace of deliveries", "target", PaceTarget, "pace", state.String())
		p.pace, p.next = state.Pace, time.Time{}
	}
	if p.pauses == pauses {
		p.paused = state.PausedUntil
		if !p.paused.After(p.clock.Now()) {
			p.paused = time.Time{}
		}
	}
	return nil
}

func (p *Pacer) bucketOf(pace rate.Pace) (*rate.TokenBucket, error) {
	if pace.Burst == 0 {
		return nil, nil //nolint:nilnil // a pace may have none
	}
	return rate.NewTokenBucket(p.client, rate.TokenBucketOptions{
		Prefix: p.prefix, Rate: pace.Rate, Capacity: pace.Burst,
	})
}
