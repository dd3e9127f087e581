package deliver

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
)

// wakeLooks is how many looks in a row wake tasks after a change: another worker
// may have sent one back to the queue just before it saw the change.
const wakeLooks = 2

// Follow loads the pace now, and then in every look until the returned function is
// called. After the start and each change it calls wake, which has to wake the tasks that wait in
// the queue with the cause ErrPaced. It returns an error if the first load fails.
func (p *Pacer) Follow(ctx context.Context, looks *job.Looks, wake func(context.Context) error) (stop func(), err error) {
	if err := p.look(ctx); err != nil {
		return nil, err
	}
	seen, left := (<-chan struct{})(nil), 0
	return looks.Repeat(ctx, p.look, p.askPace, func(ctx context.Context, err error) {
		if err != nil && ctx.Err() == nil {
			// Without the store nothing is delivered anyway.
			p.logger.DebugContext(ctx, "could not look at the pace", "error", err)
			return
		}
		if now := p.changed(); now != seen {
			seen, left = now, wakeLooks
		}
		if left == 0 {
			return
		}
		left--
		if err := wake(ctx); err != nil && ctx.Err() == nil {
			left = wakeLooks
			p.logger.DebugContext(ctx, "could not wake the tasks that wait for the pace: trying again", "error", err)
		}
	}), nil
}

// look loads the pace from the store.
func (p *Pacer) look(ctx context.Context) error { return p.askPace(ctx, p.client)(ctx, time.Time{}) }

func (p *Pacer) askPace(ctx context.Context, client redis.Cmdable) func(context.Context, time.Time) error {
	p.mu.Lock()
	pauses := p.pauses
	p.mu.Unlock()
	load := p.store.Ask(ctx, client)
	return func(ctx context.Context, _ time.Time) error {
		state, err := load()
		if err != nil {
			return err
		}
		return p.follow(ctx, state, pauses)
	}
}

// follow uses the state that a look has read. The pause is older if there were not as many pauses before
// the look.
func (p *Pacer) follow(ctx context.Context, state rate.PaceState, pauses int) (err error) {
	if state.Learned, err = p.grow(ctx, state.Learned); err != nil {
		return err
	}
	if !state.PausedUntil.IsZero() {
		state.PausedUntil = state.PausedUntil.Add(-p.ahead(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sooner := false
	if state.Pace != p.pace {
		if p.bucket, err = p.bucketOf(state.Pace); err != nil {
			return err
		}
		p.logger.InfoContext(ctx, "pace of deliveries", "target", p.target, "pace", state.String())
		p.pace, p.next, sooner = state.Pace, time.Time{}, true
	}
	sooner = p.follows(ctx, state.Learned) || sooner
	if p.pauses == pauses {
		sooner = sooner || state.PausedUntil.Before(p.paused) && p.paused.After(p.clock.Now())
		p.paused = state.PausedUntil
		if now := p.clock.Now(); !p.paused.After(now) || p.paused.After(now.Add(rate.MaxPause)) {
			p.paused = time.Time{}
		}
	}
	if sooner {
		close(p.wake)
		p.wake = make(chan struct{})
	}
	return nil
}

func (p *Pacer) bucketOf(pace rate.Pace) (*rate.TokenBucket, error) {
	if pace.Burst == 0 {
		return nil, nil
	}
	return rate.NewTokenBucket(p.client, rate.TokenBucketOptions{
		Prefix: p.prefix, Rate: pace.Rate, Capacity: pace.Burst,
	})
}
