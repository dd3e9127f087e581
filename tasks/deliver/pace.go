package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// PaceTarget names the pace of all messages of all channels, for rate.Paces. With one
// channel, a pause of the target pauses it.
const PaceTarget = "push"

// ChannelPace names the pace of the calls to the provider of a channel, for rate.Paces.
func ChannelPace(channel string) string { return PaceTarget + "-" + channel }

// PacedChannels returns the names of the channels that have a ChannelPace.
func PacedChannels() []string { return notifier.Channels() }

const (
	// patience is how long a message with a delivery slot waits for its permit.
	patience = time.Second
	// paceLag is how long after its permit a call may come: the claim is in between.
	paceLag = 50 * time.Millisecond
	// usualTrips times the Latency may pass between a permit and its call,
	// beyond paceLag: half a round trip for the permit, one for the claim, and another one
	// as a reserve.
	usualTrips = 5
	// renewals is how often a permit is renewed for a late call, each time with twice the
	// lag. After that the message is given back.
	renewals = 6
	// longestPause bounds a pause that the target asks for.
	longestPause = time.Hour
	// heldFor is how long a task may wait here. For a longer wait it goes back to the
	// queue, at most for backFor: a changed pace wakes it there, but the worker that
	// saw the change may die.
	heldFor, backFor = 5 * time.Second, time.Minute
)

// Pacer keeps the calls of all workers to a target within its pace: permits limit the
// rate, a bucket of tokens limits bursts. A target that refused calls has a learned rate, too. Without
// all this it only asks the store once a second whether there is a pace.
type Pacer struct {
	target  string
	store   *rate.Paces
	permits *rate.Permits
	client  redis.UniversalClient
	prefix  string
	clock   *storeclock.Clocks
	key     string // of the permits: they go by the clock of its server
	metrics *metrics.Metrics
	logger  *slog.Logger

	turn     *Slots     // one slot, of the goroutine that asks the store
	learning sync.Mutex // held by the goroutine that tells the store of a refusal

	mu     sync.Mutex
	pace   rate.Pace
	bucket *rate.TokenBucket // nil if the pace has no bursts of its own
	paused time.Time         // until when, by the main clock
	pauses int               // counts changes of the pause that a running look does not know
	next   time.Time         // of the next possible permit, by the local clock
	wake   chan struct{}     // closed when calls may come earlier than expected
	ramp   ramp

	slowed time.Time // when the target last asked for a pause, by the local clock

	learned learnedRate
	unclear unclear
	backs   putBacks
}

// pacedError says that a message has to wait without a delivery slot: for a time, or until
// wake is closed because the pace has changed.
type pacedError struct {
	after time.Duration
	most  time.Duration // the longest time that a task goes back to the queue
	wake  <-chan struct{}
}

// apart returns the time between two calls at the full pace; zero without a pace.
func (p *Pacer) apart() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.paceApart(), p.learned.apart())
}

// backsApart is apart for messages that are put back. By their time a learned rate may have grown, and it
// grows only if some have to wait.
func (p *Pacer) backsApart() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.paceApart(), p.learned.apart()/2)
}

// paceApart is apart without a learned rate. The caller holds the lock.
func (p *Pacer) paceApart() time.Duration {
	if p.pace.Rate.Count == 0 {
		return 0
	}
	return p.pace.Rate.Interval / time.Duration(p.pace.Rate.Count)
}

func (e *pacedError) Error() string { return fmt.Sprintf("the pace allows it in %s", e.after) }

// PacerOptions say what a Pacer follows.
type PacerOptions struct {
	Prefix string
	Target string // PaceTarget, or a ChannelPace
	// Ramp is how long it takes from nothing to the full pace; zero means no time.
	Ramp time.Duration
}

// NewPacer returns a Pacer that follows the pace of a target in the store. The error is a
// *fault.InvalidError.
func NewPacer(
	client redis.UniversalClient, o PacerOptions, c *storeclock.Clocks, m *metrics.Metrics, logger *slog.Logger,
) (*Pacer, error) {
	keys := keyspace.KeysUnder(o.Prefix)
	store, err := rate.NewPaces(client, keys, o.Target)
	if err != nil {
		return nil, err
	}
	permits, err := rate.NewPermits(client, rate.PermitsOptions{Prefix: o.Prefix, Name: o.Target, Lag: paceLag})
	if err != nil {
		return nil, err
	}
	return &Pacer{
		key: keys.Permits(o.Target), target: o.Target, store: store, permits: permits, client: client, prefix: o.Prefix, clock: c, metrics: m, logger: logger,
		turn: NewSlots(1, 1, c.Local), wake: make(chan struct{}), ramp: ramp{over: o.Ramp},
	}, nil
}

// pass returns when a call may be made. The error is a *pacedError if the wait would be
// longer than patience, and queue.ErrStopping when ctx or stop ends.
func (p *Pacer) pass(ctx context.Context, stop <-chan struct{}, o sendlimit.Origin) (permit, error) {
	return p.passLate(ctx, stop, o, min(usualTrips*p.clock.Latency(), patience))
}

// passLate is pass for a call that may begin later than paceLag, by a delay.
func (p *Pacer) passLate(ctx context.Context, stop <-chan struct{}, o sendlimit.Origin, delay time.Duration) (permit, error) {
	if p.free() {
		p.begins(p.clock.Local())
		return permit{}, nil
	}
	began, wake := p.clock.Local(), p.changed()
	passed, err := p.wait(ctx, stop, wake, o, began, delay)
	if paced, ok := errors.AsType[*pacedError](err); ok {
		paced.wake = wake
		p.metrics.HeldUp(p.clock.Local().Sub(began) + paced.after)
	} else if err == nil {
		now := p.clock.Local()
		p.metrics.HeldUp(now.Sub(began))
		p.begins(now)
	}
	return passed, err
}

// free reports whether there is neither a pace nor a learned rate nor a pause.
func (p *Pacer) free() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pace.Rate.Count == 0 && p.learned.Generation == 0 && p.paused.IsZero()
}

// changed returns a channel that is closed when the pace changes or a pause ends early.
func (p *Pacer) changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wake
}

func (p *Pacer) wait(
	ctx context.Context, stop, wake <-chan struct{}, o sendlimit.Origin, began time.Time, delay time.Duration,
) (permit, error) {
	if expected := p.expected(o); expected > patience {
		return permit{}, &pacedError{after: expected, most: backFor}
	}
	if err := p.takeTurn(ctx, stop, o); err != nil {
		return permit{}, err
	}
	defer p.turn.Leave(o)
	for {
		wait := p.untilNext()
		if wait == 0 {
			passed, refused, err := p.askBoth(context.WithoutCancel(ctx), delay)
			if err != nil || refused == nil {
				return passed, err
			}
			wait = refused.RetryAfter
		}
		if p.clock.Local().Sub(began)+wait > patience {
			return permit{}, &pacedError{after: wait, most: backFor}
		}
		if !storeclock.SleepOrWake(ctx, stop, wake, wait) {
			return permit{}, queue.ErrStopping
		}
		wake = p.changed()
	}
}

// takeTurn waits for the turn to ask the store. Only one goroutine of a worker asks at a time: the
// others would get no permit.
func (p *Pacer) takeTurn(ctx context.Context, stop <-chan struct{}, o sendlimit.Origin) error {
	if p.turn.Try(o) {
		return nil
	}
	patient, done := context.WithTimeout(ctx, patience)
	defer done()
	if p.turn.Take(patient, stop, o) {
		return nil
	}
	if patient.Err() != nil && ctx.Err() == nil {
		return &pacedError{after: max(p.expected(o), time.Millisecond), most: backFor}
	}
	return queue.ErrStopping
}

// untilNext returns how long there is certainly no permit.
func (p *Pacer) untilNext() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Local()
	return max(0, p.paused.Sub(p.clock.Now()), p.next.Sub(now), p.ramp.wait(now, p.pace.Rate))
}

// expected returns about how long one more call would have to wait.
func (p *Pacer) expected(o sendlimit.Origin) time.Duration {
	return p.untilNext() + p.apart()*time.Duration(p.turn.Before(o))
}

// ask asks the store for a permit, and returns the refusal if there is none. It asks the
// bucket first: usually that is the empty one, and nothing has to be given back.
func (p *Pacer) ask(ctx context.Context, delay time.Duration) (permit, *rate.Grant, error) {
	p.mu.Lock()
	pace, asked := p.pace.Rate, permit{bucket: p.bucket}
	p.mu.Unlock()
	if pace.Count == 0 {
		return permit{}, nil, nil // there was only a pause, and it is over
	}
	if asked.bucket != nil {
		d, err := asked.bucket.Take(ctx, rate.TokenRequest{Key: p.bucketKey()})
		if err != nil || !d.Allowed {
			return permit{}, p.refused(d), err
		}
	}
	token := keyspace.NewToken()
	delay = min(max(delay, 0)+time.Millisecond-1, rate.MaxLag).Truncate(time.Millisecond)
	d, err := p.permits.Acquire(ctx, rate.PermitRequest{Token: token, Delay: delay})
	if _, removed := errors.AsType[*rate.NoRateError](err); removed {
		return asked, nil, nil // the pace was removed since the last look
	}
	if err != nil || !d.Allowed {
		p.giveBack(ctx, asked)
		return permit{}, p.refused(d), err
	}
	asked.token, asked.clock, asked.taken, asked.useBy = token, p.clock.Of(ctx, p.key), d.Now, d.UseBy
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ramp.passed(p.clock.Local())
	return asked, nil, nil
}

// ahead returns how far the clock of the permits is ahead of the main one.
func (p *Pacer) ahead(ctx context.Context) time.Duration {
	return p.clock.Of(ctx, p.key).Ahead(p.clock.Clock)
}

// renew returns the permit for a call that begins now: the held one, or a new one if that is no
// longer in time. Each new one is valid for longer, until that covers the slowness of the store and
// this machine. So the pace is kept, with fewer calls.
//
// The error is that of pass, or a *pacedError if all renewals came too late. Then nothing is
// held.
func (p *Pacer) renew(ctx context.Context, stop <-chan struct{}, held permit, o sendlimit.Origin) (permit, error) {
	for range renewals {
		if held.inTime() {
			return held, nil
		}
		late := held.latest().Sub(held.taken)
		p.giveBack(ctx, held)
		var err error
		if held, err = p.passLate(ctx, stop, o, 2*late); err != nil {
			return permit{}, err
		}
	}
	p.giveBack(ctx, held)
	return permit{}, &pacedError{after: time.Millisecond, most: backFor}
}

func (p *Pacer) bucketKey() string { return "pace/" + p.target }

// refused sets when to ask again, and returns the refusal.
func (p *Pacer) refused(g rate.Grant) *rate.Grant {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = p.clock.Local().Add(g.RetryAfter)
	return &g
}

// giveBack gives back a permit unless it is spent. If that fails, the permit expires.
func (p *Pacer) giveBack(ctx context.Context, unused permit) {
	if unused.spent {
		return
	}
	p.keepToken(unused)
	if unused.token == "" && unused.bucket == nil {
		return
	}
	ctx, done := context.WithTimeout(ctx, persist.TryWithin)
	defer done()
	var failed error
	if unused.token != "" {
		_, failed = p.permits.GiveBack(ctx, unused.token)
	}
	if unused.bucket != nil {
		_, err := unused.bucket.GiveBack(ctx, rate.TokenRequest{Key: p.bucketKey()})
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		p.logger.DebugContext(ctx, "could not give back a permit: it expires", "error", failed)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = time.Time{}
}
