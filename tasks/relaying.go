package tasks

import (
	"cmp"
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/listen"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/relay"
)

// RelayOptions are the intervals of a relay, see WorkerOptions.
type RelayOptions struct {
	Every       time.Duration // zero means 5 s
	SweepEvery  time.Duration // for the log of Redis; zero means six times Every
	PlacesEvery time.Duration // zero means 1 hour
}

func (o RelayOptions) withDefaults() RelayOptions {
	o.Every = cmp.Or(o.Every, 5*time.Second)
	o.SweepEvery = cmp.Or(o.SweepEvery, 6*o.Every)
	o.PlacesEvery = cmp.Or(o.PlacesEvery, time.Hour)
	return o
}

func (o RelayOptions) validate() error {
	switch {
	case o.Every < time.Millisecond:
		return message.NotAllowed("relay_every", o.Every.String(), "at least 1 ms")
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
	places, err := messages.NewLostPlaces(b.Client, b.Timeline)
	if err != nil {
		return nil, err
	}
	index, err := find.NewIndex(b.Client, b.Timeline)
	if err != nil {
		return nil, err
	}
	known, err := devices.New(b.Client, devices.Options{Prefix: b.Timeline.Prefix})
	if err != nil {
		return nil, err
	}
	gatherer, err := events.NewGatherer(b.Client, b.Events)
	if err != nil {
		return nil, err
	}
	return &relaying{
		relay: &relay.Relay{
			Watch: b.Watch, Charges: charges, Places: places, Index: index, Devices: known, Queue: q, Timers: timers,
			Clock: b.Policies.Clock, Learn: func(ctx context.Context) { learnClock(ctx, b) },
			NewEvictions: func(ctx context.Context, servers []store.Memory) ([]store.Memory, error) {
				return store.NewEvictions(ctx, b.Client, b.Timeline.Prefix, servers)
			},
			NoteEvictions: func(ctx context.Context, servers []store.Memory) error {
				return store.NoteEvictions(ctx, b.Client, b.Timeline.Prefix, servers)
			},
			Memory:  func(ctx context.Context) ([]store.Memory, error) { return store.ReadMemory(ctx, b.Client) },
			Rewrite: func(ctx context.Context) (int, error) { return store.RewriteLogs(ctx, b.Client, b.Timeline.Prefix) },
			Metrics: b.Metrics, Tracer: b.Tracer, Logger: b.Logger,
		},
		gathering: &listen.Gathering{Gatherer: gatherer, Subscribers: b.Timeline.Subscribers, Metrics: b.Metrics, Logger: b.Logger},
		options:   o,
	}, nil
}

// start relays until the returned functions are called, which wait for running passes. A nil
// *relaying does nothing.
func (r *relaying) start(ctx context.Context) (stopRelay, stopGathering func()) {
	if r == nil {
		return func() {}, func() {}
	}
	return r.relay.Start(ctx, r.options.Every, r.options.SweepEvery, r.options.PlacesEvery),
		r.gathering.Start(ctx, r.options.Every)
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
