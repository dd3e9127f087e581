package deliver

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
)

// pause stops the calls of this worker for as long as the target asked, and returns a
// function that tells the other workers.
func (p *Pacer) pause(asked time.Duration) (tell func(context.Context)) {
	asked = min(asked, longestPause)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pauses++
	if until := p.clock.Now().Add(asked); until.After(p.paused) {
		p.paused = until
	}
	if p.target == PaceTarget {
		p.metrics.Paused()
	}
	return func(ctx context.Context) {
		ctx, done := context.WithTimeout(ctx, persist.TryWithin)
		defer done()
		until, err := p.store.Pause(ctx, max(asked, time.Millisecond))
		if err != nil {
			p.logger.WarnContext(ctx, "the target asked for a pause, which other workers do not learn of", "target", p.target, "error", err)
			return
		}
		p.logger.WarnContext(ctx, "the target asked for a pause: nothing is delivered meanwhile", "target", p.target, "for", asked, "until", until)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pauses++ // a look may have read the store before this
	}
}
