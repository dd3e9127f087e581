package tasks

import (
	"cmp"
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/listen"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/relay"
)

// RelayOptions are the intervals of a relay.
type RelayOptions struct {
	// RelayEvery is about how often to look for messages that the queue may not have, for open
	// charges, and for events of other programs; zero means 5 s.
	RelayEvery time.Duration
	// SweepEvery is the same for notices and the log of Redis, after a crash or an outage of the
	// store; zero means six times RelayEvery.
	SweepEvery time.Duration
	// PlacesEvery is about how often one of the workers frees places whose messages have no record,
	// and removes stale entries of the index of messages; zero means 1 hour. It reads all keys of
	// the store, and the whole index.
	PlacesEvery time.Duration
}

func (o RelayOptions) withDefaults() RelayOptions {
	o.RelayEvery = cmp.Or(o.RelayEvery, 5*time.Second)
	o.SweepEvery = cmp.Or(o.SweepEvery, 6*o.RelayEvery)
	o.PlacesEvery = cmp.Or(o.PlacesEvery, time.Hour)
	return o
}

func (o RelayOptions) validate() error {
	switch {
	case o.RelayEvery < time.Millisecond:
		return message.NotAllowed("relay_every", o.RelayEvery.String(), "at least 1 ms")
	case o.SweepEvery < time.Millisecond:
		return message.NotAllowed("sweep_every", o.SweepEvery.String(), "at least 1 ms")
	case o.PlacesEvery < time.Millisecond:
		return message.NotAllowed("places_every", o.PlacesEvery.String(), "at least 1 ms")
	}
	return nil
}

// relaying hands messages over to the queue, and gathers the events of messages.
type relaying struct {
	relay     *relay.Relay
	gathering *listen.Gathering
	options   RelayOptions // complete
}

// newRelaying returns the relay of a process with its queue and timers.
func newRelaying(b *backend.Backend, q *queue.Queue, timers *queue.Timers, o RelayOptions) (*relaying, error) {
	charges, err := quota.New(b.Client, quota.Options{Prefix: b.Timeline.Prefix, LookAfter: b.Timeline.LookAfter, Ahead: b.Timeline.Ahead})
	if err != nil {
		return nil, err
	}
	gatherer, err := events.NewGatherer(b.Client, b.Events)
	if err != nil {
		return nil, err
	}
	turns := turn.New(b.Client, b.Keys)
	return &relaying{
		relay: &relay.Relay{
			Client: b.Client, Keys: b.Keys, Turns: turns, Watch: b.Watch, Charges: charges, Places: messages.NewLostPlaces(b.Client, b.Keys),
			Index: find.NewIndex(b.Client, b.Keys, b.Timeline.WithoutIndex), Devices: devices.New(b.Client, b.Keys, devices.Options{}),
			Queue: q, Timers: timers, Clock: b.Policies.Clock, Learn: func(ctx context.Context) { learnClock(ctx, b) }, Follow: func(ctx context.Context) error { return refit.ContinueFollows(ctx, b) },
			Metrics: b.Metrics, Tracer: b.Tracer, Logger: b.Logger,
		},
		gathering: &listen.Gathering{Gatherer: gatherer, Turns: turns, Subscribers: b.Timeline.Subscribers, Metrics: b.Metrics, Logger: b.Logger},
		options:   o,
	}, nil
}

// start relays until the returned functions are called, which wait for running passes. A nil
// *relaying does nothing.
func (r *relaying) start(ctx context.Context) (stopRelay, stopGathering func()) {
	if r == nil {
		return func() {}, func() {}
	}
	return r.relay.Start(ctx, r.options.RelayEvery, r.options.SweepEvery, r.options.PlacesEvery),
		r.gathering.Start(ctx, r.options.RelayEvery)
}

// Relay hands messages over to the queue when they are due soon, for workers that do not, and
// finds what the queue lost. It delivers nothing. Any number may run on one store.
type Relay struct {
	backend  *backend.Backend
	timers   *queue.Timers
	relaying *relaying
}

// NewRelay returns a relay on a backend. Nothing runs before Run. The error is a
// *fault.InvalidError.
func NewRelay(b *backend.Backend, o RelayOptions) (*Relay, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	q := b.Queue.ByClock(b.Policies.Clock.Clock)
	timers := q.Timers(b.Watch, b.Logger)
	r, err := newRelaying(b, q, timers, o)
	if err != nil {
		return nil, err
	}
	return &Relay{backend: b, timers: timers, relaying: r}, nil
}

// Run relays until ctx ends, and returns nil then. It runs once.
func (r *Relay) Run(ctx context.Context) error {
	b := r.backend
	if err := b.Policies.Refresh(ctx); err != nil { // it notices a step of the store's clock
		return unlessStopped(ctx, err)
	}
	if err := b.Listen.Load(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	learnClock(ctx, b)
	r.timers.Start()
	stopFollowing := b.Follow(ctx)
	stopRelay, stopGathering := r.relaying.start(ctx)
	b.Logger.InfoContext(ctx, "relaying: messages go to the queue when they are due soon", "queue", queue.Name(b.Timeline.Prefix))
	<-ctx.Done()
	stopRelay()
	r.timers.Close()
	stopGathering()
	stopFollowing()
	return nil
}
