package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// PaceTarget names the pace of the calls that deliver messages, for a
// rate.Paces.
const PaceTarget = "push"

const (
	// lookAtPace is how often a worker looks for another pace, or for a pause that
	// another worker was told of.
	lookAtPace = time.Second
	// patience is how long a message waits for its permit with a delivery slot.
	patience = time.Second
	// paceLag is how long a call may come after its permit: the claim lies between.
	paceLag = 50 * time.Millisecond
	// renewals is how often a permit is renewed for a call that comes later.
	renewals = 2
	// longestPause bounds a pause that the target asks for. The first call after
	// it is told if that was too early.
	longestPause = time.Hour
	// heldFor is how long a task is held here that has to wait. For longer it goes
	// back to the queue, though for no more than backFor: the pace may change.
	heldFor, backFor = 5 * time.Second, time.Minute
)

// Pacer keeps the calls of all workers to a target within its pace: a rate, in
// permits, and bursts, in a bucket of tokens. Without a pace nothing is asked of
// the store but, once a second, whether there is one.
type Pacer struct {
	store   *rate.Paces
	permits *rate.Permits
	client  redis.UniversalClient
	prefix  string
	clock   *storeclock.Clock
	metrics *metrics.Metrics
	logger  *slog.Logger

	turn    chan struct{} // held by the one that asks the store, for all who wait behind
	waiting atomic.Int64  // who have the turn or wait for it

	mu     sync.Mutex
	pace   rate.Pace
	bucket *rate.TokenBucket // nil where the pace has no bursts of its own
	paused time.Time         // until when, by the store's clock
	pauses int               // changes with each: a look that began before knows nothing of it
	next   time.Time         // when there may be a permit again, by the local clock
}

// permit lets one call through. The zero permit is that of a target without a
// pace.
type permit struct {
	token  string
	taken  time.Time // by the store's clock
	bucket *rate.TokenBucket
}

// pacedError sends a message to wait without a delivery slot.
type pacedError struct{ after time.Duration }

func (e *pacedError) Error() string { return fmt.Sprintf("the pace allows it in %s", e.after) }

// NewPacer returns a Pacer that follows the pace in the store under a prefix. The
// error is a *fault.InvalidError.
func NewPacer(client redis.UniversalClient, prefix string, c *storeclock.Clock, m *metrics.Metrics, logger *slog.Logger) (*Pacer, error) {
	store, err := rate.NewPaces(client, prefix, PaceTarget)
	if err != nil {
		return nil, err
	}
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Prefix: prefix, Name: PaceTarget, Lag: paceLag})
	if err != nil {
		return nil, err
	}
	return &Pacer{
		store: store, permits: permits, client: client, prefix: prefix, clock: c, metrics: m, logger: logger,
		turn: make(chan struct{}, 1),
	}, nil
}

// pass returns when a call may go out. The error is a *pacedError for one that
// would have to wait for longer than patience, and errStopping when ctx or stop
// ends.
func (p *Pacer) pass(ctx context.Context, stop <-chan struct{}) (permit, error) {
	if p.free() {
		return permit{}, nil
	}
	began := p.clock.Local()
	passed, err := p.wait(ctx, stop, began)
	if paced, ok := errors.AsType[*pacedError](err); ok {
		p.metrics.HeldUp(p.clock.Local().Sub(began) + paced.after)
	} else if err == nil {
		p.metrics.HeldUp(p.clock.Local().Sub(began))
	}
	return passed, err
}

// free says that there is neither a pace nor a pause.
func (p *Pacer) free() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pace.Rate.Count == 0 && p.paused.IsZero()
}

func (p *Pacer) wait(ctx context.Context, stop <-chan struct{}, began time.Time) (permit, error) {
	if expected := p.expected(); expected > patience {
		return permit{}, &pacedError{after: expected}
	}
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	if err := p.takeTurn(ctx, stop); err != nil {
		return permit{}, err
	}
	defer func() { <-p.turn }()
	for {
		wait := p.untilNext()
		if wait == 0 {
			passed, after, err := p.ask(context.WithoutCancel(ctx))
			if err != nil || after == 0 {
				return passed, err
			}
			wait = after
		}
		if p.clock.Local().Sub(began)+wait > patience {
			return permit{}, &pacedError{after: wait}
		}
		if !storeclock.Sleep(ctx, stop, wait) {
			return permit{}, queue.ErrStopping
		}
	}
}

// takeTurn waits for the turn to ask the store, which only one of this worker
// does at a time: of many who wait for a permit, the others would ask in vain.
func (p *Pacer) takeTurn(ctx context.Context, stop <-chan struct{}) error {
	tooLong := time.NewTimer(patience)
	defer tooLong.Stop()
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-tooLong.C:
		return &pacedError{after: max(p.expected(), time.Millisecond)}
	case <-ctx.Done():
	case <-stop:
	}
	return queue.ErrStopping
}

// untilNext is how long there is no permit for certain.
func (p *Pacer) untilNext() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.paused.Sub(p.clock.Now()), p.next.Sub(p.clock.Local()))
}

// expected is about how long another one who waits would have to.
func (p *Pacer) expected() time.Duration {
	before := p.untilNext()
	p.mu.Lock()
	defer p.mu.Unlock()
	rate := p.pace.Rate
	if rate.Count == 0 {
		return before
	}
	return before + rate.Interval*time.Duration(p.waiting.Load())/time.Duration(rate.Count)
}

// ask asks the store for a permit, and returns how long to wait where it gives
// none. The bucket comes first: where it is empty, which is what usually holds a
// call up, nothing has to be given back.
func (p *Pacer) ask(ctx context.Context) (permit, time.Duration, error) {
	p.mu.Lock()
	pace, asked := p.pace.Rate, permit{bucket: p.bucket}
	p.mu.Unlock()
	if pace.Count == 0 {
		return permit{}, 0, nil // it was a pause, and is over
	}
	if asked.bucket != nil {
		d, err := asked.bucket.Take(ctx, rate.TokenRequest{Key: paceBucket})
		if err != nil || !d.Allowed {
			return permit{}, p.refused(d), err
		}
	}
	token := keyspace.NewToken()
	d, err := p.permits.Acquire(ctx, rate.PermitRequest{Token: token})
	if _, removed := errors.AsType[*rate.NoRateError](err); removed {
		return asked, 0, nil // since the last look: nothing is paced any more
	}
	if err != nil || !d.Allowed {
		p.giveBack(ctx, asked)
		return permit{}, p.refused(d), err
	}
	asked.token, asked.taken = token, d.TakenAt
	return asked, 0, nil
}

// renew returns the permit for a call that goes out now: the one that is held, or
// another where that is so old that the permits of the next interval may be used by
// now. Where the store has become that slow, one more time has to do. The error is
// as of pass, and nothing is held then.
func (p *Pacer) renew(ctx context.Context, stop <-chan struct{}, held permit) (permit, error) {
	for range renewals {
		// Half a round trip for the permit and a whole one for the claim lie before
		// every call: it is what takes longer that moves calls closer together.
		if held.token == "" || p.clock.Now().Sub(held.taken) <= paceLag+3*p.clock.Latency() {
			return held, nil
		}
		p.giveBack(ctx, held)
		var err error
		if held, err = p.pass(ctx, stop); err != nil {
			return permit{}, err
		}
	}
	return held, nil
}

// paceBucket is the key of the bucket of bursts.
const paceBucket = "pace/" + PaceTarget

// refused notes when to ask again.
func (p *Pacer) refused(g rate.Grant) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = p.clock.Local().Add(g.RetryAfter)
	return g.RetryAfter
}

// giveBack gives a permit back whose call was not made. Where the store does not
// take it, it comes back by itself.
func (p *Pacer) giveBack(ctx context.Context, unused permit) {
	if unused == (permit{}) {
		return
	}
	ctx, done := context.WithTimeout(ctx, persist.TryWithin)
	defer done()
	var failed error
	if unused.token != "" {
		_, failed = p.permits.GiveBack(ctx, unused.token)
	}
	if unused.bucket != nil {
		_, err := unused.bucket.GiveBack(ctx, rate.TokenRequest{Key: paceBucket})
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		p.logger.DebugContext(ctx, "a permit was not given back, and comes back by itself", "error", failed)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = time.Time{}
}

// pause keeps this worker from the target for as long as it asked for, and
// returns what tells the others.
func (p *Pacer) pause(asked time.Duration) (tell func(context.Context)) {
	asked = min(asked, longestPause)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pauses++
	if until := p.clock.Now().Add(asked); until.After(p.paused) {
		p.paused = until
	}
	p.metrics.Paused()
	return func(ctx context.Context) {
		ctx, done := context.WithTimeout(ctx, persist.TryWithin)
		defer done()
		until, err := p.store.Pause(ctx, max(asked, time.Millisecond))
		if err != nil {
			p.logger.WarnContext(ctx, "the target asked for a pause, which other workers do not learn of", "error", err)
			return
		}
		p.logger.WarnContext(ctx, "the target asked for a pause: nothing is delivered meanwhile", "for", asked, "until", until)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pauses++ // of what a look has seen before this, too
	}
}
