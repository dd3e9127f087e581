package channels

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
)

const (
	// probeFirst is the time from a stop to the first probe, and probeEvery the time between two
	// probes of all workers.
	probeFirst, probeEvery = 5 * time.Second, time.Minute
	// refusedProbes is the time from a stop until messages that were refused before may also be
	// probes: there may be no others.
	refusedProbes = 5 * probeEvery
	// waveEvery is how often a Wave is logged and stored.
	waveEvery = time.Minute
	// wakeLooks is how many looks in a row wake tasks after a stop: another worker may have sent one
	// back to the queue just before it saw the end.
	wakeLooks = 2
)

// Set has the channels of a worker. It follows and changes their states in the store.
type Set struct {
	channels []*Channel
	store    *Store
	devices  *devices.Store
	clock    *storeclock.Clocks
	timeout  time.Duration // of a probe
	metrics  *metrics.Metrics
	logger   *slog.Logger
	sending  *job.Latest[*SendingStop] // nil while sending is not stopped
	wakes    atomic.Int32              // how many looks are to wake the tasks that wait for a stop which has ended
}

// NewSet returns the channels of setups in a store. A probe takes at most timeout. The error is an *InvalidError.
func NewSet(
	client redis.UniversalClient, keys keyspace.Keys, setups []Setup, timeout time.Duration, c *storeclock.Clocks, m *metrics.Metrics,
	logger *slog.Logger,
) (*Set, error) {
	if err := Validate(setups); err != nil {
		return nil, err
	}
	s := &Set{
		store: NewStore(client, keys), devices: devices.New(client, keys, devices.Options{}), clock: c, timeout: timeout, metrics: m, logger: logger,
		sending: job.NewLatest[*SendingStop](sendingHolds, c.Local),
	}
	for _, setup := range setups {
		setup.Ramp = cmp.Or(setup.Ramp, DefaultRamp)
		channel, err := newChannel(setup)
		if err != nil {
			return nil, err
		}
		s.channels = append(s.channels, channel)
	}
	return s, nil
}

// All returns the channels, in the order of their setups.
func (s *Set) All() []*Channel { return s.channels }

// Follow loads the states now, and then in every look until the returned function is called.
// It also probes stopped channels. When a channel is resumed, or sending goes on, it calls wake. It returns an
// error if the first load fails.
func (s *Set) Follow(ctx context.Context, looks *job.Looks, wake func(context.Context) error) (stop func(), err error) {
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	return looks.Repeat(ctx, s.look, s.ask, func(ctx context.Context, err error) {
		if err != nil && ctx.Err() == nil {
			s.logger.DebugContext(ctx, "could not look at the channels", "error", err)
		}
		if s.wakes.Load() > 0 {
			if err := wake(ctx); err == nil {
				s.wakes.Add(-1)
			} else {
				s.logger.DebugContext(ctx, "could not wake the tasks that wait for a channel: trying again", "error", err)
			}
		}
		s.probe(ctx)
	}), nil
}

// look loads the states.
func (s *Set) look(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, persist.TryWithin)
	defer done()
	return s.ask(ctx, s.store.client)(ctx, time.Time{})
}

func (s *Set) ask(ctx context.Context, client redis.Cmdable) func(context.Context, time.Time) error {
	before := make([]int, len(s.channels))
	for i, c := range s.channels {
		before[i] = c.seen()
	}
	began := s.clock.Local()
	load := s.store.ask(ctx, client)
	return func(ctx context.Context, _ time.Time) error {
		states, sending, err := load()
		if err == nil {
			s.learnSending(ctx, sending, began)
			s.learn(ctx, states, before)
		}
		return err
	}
}

// learn follows the states that a look has read. before are the changes of the channels that it knows.
func (s *Set) learn(ctx context.Context, states []State, before []int) {
	known := make(map[string]State, len(states))
	for _, state := range states {
		known[state.Name] = state
	}
	for i, c := range s.channels {
		s.tell(ctx, c, known[c.Name])
		was, cleared := c.learn(known[c.Name], before[i])
		is := c.State()
		s.metrics.ChannelStopped(c.Name, stoppedFor(was), stoppedFor(is))
		if was.Stopped && !is.Stopped {
			s.wakes.Store(wakeLooks)
			s.logger.InfoContext(ctx, "a channel is resumed", "channel", c.Name, "stopped_since", was.Since)
		} else if is.Stopped && !was.Stopped {
			s.logger.WarnContext(ctx, "a channel is stopped", "channel", c.Name, "reason", is.Reason, "since", is.Since)
		}
		s.clear(ctx, cleared)
	}
}

// stoppedFor returns why a channel is stopped, "" if it runs.
func stoppedFor(state State) string {
	if !state.Stopped {
		return ""
	}
	return string(state.Reason)
}

// clear removes the marks of devices that are no longer suspect.
func (s *Set) clear(ctx context.Context, suspects []Suspect) {
	for _, d := range suspects {
		if _, err := s.devices.ClearSuspect(ctx, d.User, []string{d.Device}); err != nil {
			s.logger.DebugContext(ctx, "a device stays suspect until it accepts a message", "error", err)
		}
	}
}

// probe probes the stopped channels that have a Prober and are due. New credentials are tried at
// once.
func (s *Set) probe(ctx context.Context) {
	for _, c := range s.channels {
		state := c.State()
		prober, ok := c.Notifier.(notifier.Prober)
		if !ok || !state.Stopped || !c.beginsProbe(state, s.clock.Now()) || c.stops(state) && !s.TakeProbe(ctx, c) {
			continue
		}
		probing, done := context.WithTimeout(ctx, s.timeout)
		result := prober.Probe(probing)
		done()
		if result.Status != notifier.Delivered {
			s.logger.WarnContext(ctx, "a channel stays stopped", "channel", c.Name, "reason", result.Reason, "error", result.Err)
			continue
		}
		s.Passed(ctx, c, state)
	}
}

// MayProbe reports whether to send a message although its channel is stopped: it takes the
// turn of the next probe. A message of an account without refused messages needs no
// turn: other accounts must not hold it up.
func (s *Set) MayProbe(ctx context.Context, c *Channel, m Sent) bool {
	return c.spares(m) || c.messageMayProbe(m, s.clock.Now()) && s.TakeProbe(ctx, c)
}

// TakeProbe takes the turn to probe a stopped channel, and reports whether it did.
func (s *Set) TakeProbe(ctx context.Context, c *Channel) bool {
	ctx, done := context.WithTimeout(ctx, persist.TryWithin)
	defer done()
	taken, err := s.store.TakeProbe(ctx, c.Name, probeFirst, probeEvery)
	if err != nil {
		s.logger.DebugContext(ctx, "could not take the turn to probe a channel", "channel", c.Name, "error", err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.ProbeAt = s.clock.Now().Add(probeEvery)
	return taken
}

// Passed resumes a channel after a successful probe in a state.
func (s *Set) Passed(ctx context.Context, c *Channel, state State) {
	ctx, done := context.WithTimeout(ctx, persist.TryWithin)
	defer done()
	if _, err := s.store.ResumeProbed(ctx, state); err != nil {
		s.logger.WarnContext(ctx, "could not resume a channel: it is probed again", "channel", c.Name, "error", err)
	}
}

// Stop stops a channel of this worker at once, and returns a function that tells the others.
func (s *Set) Stop(c *Channel, why Stop) (tell func(context.Context)) {
	why.Identity = c.identity()
	if !c.stop(why, s.clock.Now()) {
		return func(context.Context) {}
	}
	s.metrics.ChannelStopped(c.Name, "", string(why.Reason))
	return func(ctx context.Context) {
		ctx, done := context.WithTimeout(ctx, persist.TryWithin)
		defer done()
		first, err := s.store.Stop(ctx, c.Name, why)
		c.told()
		if err != nil {
			s.logger.WarnContext(ctx, "could not stop a channel for other workers", "channel", c.Name, "error", err)
		} else if first {
			s.logger.ErrorContext(ctx, "a channel is stopped: its messages wait",
				"channel", c.Name, "reason", why.Reason, "detail", why.Detail)
		}
	}
}

// tell stores successes and a wave for the other workers.
func (s *Set) tell(ctx context.Context, c *Channel, known State) {
	identity := c.identity()
	last := c.refusals.last()
	if at, ok := known.Accepted(identity); !last.IsZero() && (!ok || last.Sub(at) >= job.LookEvery) {
		if err := s.store.Accept(ctx, c.Name, identity, last); err != nil {
			s.logger.DebugContext(ctx, "could not store a success of a channel", "channel", c.Name, "error", err)
		}
	}
	wave := c.brake.wave(s.clock.Now())
	if wave == nil || known.Wave != nil && wave.At.Sub(known.Wave.At) < waveEvery {
		return
	}
	s.logger.WarnContext(ctx, "a provider calls many devices gone: they are kept as suspects, and the channel continues", "channel", c.Name,
		"gone", wave.Gone, "of", wave.Of, "accounts", wave.Accounts, "campaigns", wave.Campaigns)
	if err := s.store.NoteWave(ctx, c.Name, *wave); err != nil {
		s.logger.DebugContext(ctx, "could not store a wave of gone devices", "channel", c.Name, "error", err)
	}
}

// Prove stores that a channel has delivered with its present credentials.
func (s *Set) Prove(ctx context.Context, c *Channel) {
	ctx, done := context.WithTimeout(ctx, persist.TryWithin)
	defer done()
	if err := s.store.Accept(ctx, c.Name, c.identity(), c.refusals.last()); err != nil {
		s.logger.DebugContext(ctx, "could not store the first delivery of a channel", "channel", c.Name, "error", err)
		return
	}
	if err := s.look(ctx); err != nil {
		s.logger.DebugContext(ctx, "could not look at the channels", "error", err)
	}
}
