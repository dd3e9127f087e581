package deliver

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
)

// learnedRate is how fast a target accepts calls, as its refusals have shown. All workers share it:
// see rate.Learned. A target that was never refused has none, and costs nothing.
type learnedRate struct {
	rate.Learned

	bucket *rate.TokenBucket
	tokens int64 // taken from the bucket for the next calls
	heldUp bool  // calls have waited for the bucket since the last look

	recent calls
}

// calls counts the calls of the last second.
type calls struct {
	since     time.Time // when the present second began, by the local clock
	now, last int64     // in the present second, and in the one before
}

func (c *calls) add(now time.Time) {
	if since := now.Sub(c.since); since >= time.Second {
		if c.last = c.now; since >= 2*time.Second {
			c.last = 0
		}
		c.now, c.since = 0, now
	}
	c.now++
}

// batches is how many takes of tokens a second has at least.
const batches = 100

// apart returns the time between two calls; zero without a learned rate.
func (l *learnedRate) apart() time.Duration {
	if l.Generation == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / l.Rate)
}

// begins counts a call, so that a first refusal tells how many there were.
func (p *Pacer) begins(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.learned.recent.add(now)
}

// askBoth asks for a token at the learned rate and a permit of the pace, and returns the refusal if
// there is none.
func (p *Pacer) askBoth(ctx context.Context, delay time.Duration) (permit, *rate.Grant, error) {
	generation, refused, err := p.takeToken(ctx)
	if err != nil || refused != nil {
		return permit{}, refused, err
	}
	asked, refused, err := p.ask(ctx, delay)
	asked.generation = generation
	if err != nil || refused != nil {
		p.keepToken(asked)
	}
	return asked, refused, err
}

// takeToken takes a token at the learned rate, if there is one, and returns the generation of that
// rate. It takes several at once for those that wait, so that a fast target needs few commands.
func (p *Pacer) takeToken(ctx context.Context) (generation int64, refused *rate.Grant, err error) {
	p.mu.Lock()
	l := &p.learned
	if l.Generation == 0 || l.tokens > 0 {
		l.tokens = max(0, l.tokens-1)
		defer p.mu.Unlock()
		return l.Generation, nil, nil
	}
	bucket, generation := l.bucket, l.Generation
	n := max(1, min(int64(p.turn.Waiting()), int64(l.Rate/batches)))
	p.mu.Unlock()
	g, err := bucket.Take(ctx, rate.TokenRequest{Key: "learned/" + p.target, Tokens: n})
	if err != nil {
		return 0, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !g.Allowed {
		l.heldUp = true
		p.next = p.clock.Local().Add(g.RetryAfter)
		return 0, &g, nil
	}
	l.tokens += n - 1
	return generation, nil, nil
}

// keepToken keeps the token of a call that does not begin for the next one.
func (p *Pacer) keepToken(unused permit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if unused.generation > 0 && unused.generation == p.learned.Generation {
		p.learned.tokens++
	}
}

// grow tells the store if calls have waited for the learned rate, and returns the rate.
func (p *Pacer) grow(ctx context.Context, stored rate.Learned) (rate.Learned, error) {
	p.mu.Lock()
	heldUp := p.learned.heldUp && stored.Generation > 0
	p.learned.heldUp = false
	p.mu.Unlock()
	if !heldUp {
		return stored, nil
	}
	return p.store.Used(ctx)
}

// follows sets the learned rate, and reports whether calls may come earlier than expected. The caller
// holds the lock.
func (p *Pacer) follows(ctx context.Context, learned rate.Learned) (sooner bool) {
	l := &p.learned
	before := l.Learned
	if learned == before {
		return false
	}
	l.Learned = learned
	p.metrics.Learned(p.target, learned.Rate)
	if learned.Generation == 0 {
		l.bucket, l.tokens = nil, 0
		p.logger.InfoContext(ctx, "the target has accepted all calls for long: it has no learned rate any more", "target", p.target)
		return true
	}
	l.bucket = learned.Bucket(p.store)
	if learned.Generation != before.Generation {
		l.tokens = 0
		p.logger.WarnContext(ctx, "the target refuses some calls: all workers together go slower", "target", p.target,
			"refused_per_second", learned.Refused, "per_second", learned.Rate)
	}
	return learned.Rate > 2*before.Rate && before.Generation > 0
}

// slowDown stops the calls of this worker for the time that the target asked for, and returns a
// function that tells the other workers. If the target refused a call because there were too many,
// they learn a lower rate.
func (p *Pacer) slowDown(r notifier.Result, refused permit) (tell func(context.Context)) {
	asked := min(r.RetryAfter, longestPause)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pauses++
	p.slowed = p.clock.Local()
	if until := p.clock.Now().Add(asked); until.After(p.paused) {
		p.paused = until
	}
	if p.target == PaceTarget {
		p.metrics.Paused()
	}
	return func(ctx context.Context) {
		ctx, done := context.WithTimeout(ctx, persist.TryWithin)
		defer done()
		until, err := p.store.Pause(ctx, asked)
		if err != nil {
			p.logger.WarnContext(ctx, "could not store a pause that the target asked for: other workers go on", "target", p.target, "error", err)
			return
		}
		p.logger.DebugContext(ctx, "the target asked for a pause: deliveries wait", "target", p.target, "for", asked, "until", until)
		p.mu.Lock()
		p.pauses++ // a running look may have missed it
		p.mu.Unlock()
		if r.Reason == notifier.ReasonRateLimited {
			p.learn(ctx, refused, asked)
		}
	}
}

// learn tells the store that the target refused a call because there were too many. Only the first
// refusal of a generation counts, and the first one of this worker while none is known.
func (p *Pacer) learn(ctx context.Context, refused permit, pause time.Duration) {
	p.learning.Lock()
	defer p.learning.Unlock()
	p.mu.Lock()
	known, calls := p.learned.Generation, max(p.learned.recent.now, p.learned.recent.last)
	p.mu.Unlock()
	if refused.generation != known {
		return
	}
	learned, err := p.store.Refused(ctx, rate.Refusal{Generation: known, Calls: calls, Pause: pause})
	if err != nil {
		p.logger.WarnContext(ctx, "could not store the rate that a target refused: the next refusal tells it", "target", p.target, "error", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.follows(ctx, learned)
}
