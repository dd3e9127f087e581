package backend

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/listen"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/rules"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// Options are the common options of the parts of a program. All programs on one
// store should have the same. The zero value is the default policy under the default
// prefix.
type Options struct {
	// Options has the prefix, the reach, and how long records are kept. Open sets Rules, Records,
	// Ahead and Subscribers; a worker sets what concerns deliveries.
	sendlimit.Options

	Policy string // name of the policy for users whose settings name none; "" means policy.DefaultName
	// AccountPlaces is the percentage of a user's PlacesPerDay that one account may have while
	// several are active; zero means policy.DefaultAccountPlaces.
	AccountPlaces int
	// Events says how long events of messages are kept, and how many; its prefix is ignored.
	Events events.Options
	// Queues is how many queues the messages are spread over, at most queue.MaxQueues; zero
	// means one, or as many as a cluster has masters.
	Queues  int
	Polling queue.Polling    // how often workers ask the queue for work
	Metrics *metrics.Metrics // nil means none
	Logger  *slog.Logger     // nil means none
	// TracerProvider makes the spans of messages, see package tracing; nil means none.
	TracerProvider trace.TracerProvider
}

// Backend is an open store with its queue, for the parts of a program. It need not be
// closed. The client has to stay open as long as the parts.
type Backend struct {
	Client   redis.UniversalClient
	Keys     keyspace.Keys
	Timeline sendlimit.Options // of every Timeline, Gate and the like; with records
	// AccountPlaces is as in Options.
	AccountPlaces int
	Policies      *rules.Policies // the rules in Timeline
	Queue         *queue.Queue
	// Looks are the repeated reads of all parts, while Follow runs.
	Looks  *job.Looks
	Watch  *messages.WatchList
	Events events.Options   // complete, of every events.Log and the like
	Listen *listen.Follower // of the subscribers in Timeline
	Payers *Payers          // the accounts that are charged
	// Activity counts the results of messages. Follow, StartFlushing and FlushActivity flush it.
	Activity  *activity.Log
	Forecasts *forecast.Forecasts // close it after use
	Metrics   *metrics.Metrics    // nil for none
	Tracer    tracing.Tracer
	Logger    *slog.Logger // warns once of an outage of the store

	outages *OutageWatch
}

// Open returns the backend in the store behind client. For a cluster, call store.WatchNodes
// before. The error is a *fault.InvalidError.
func Open(client redis.UniversalClient, o Options) (*Backend, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	outages := NewOutageWatch(client, o.Logger)
	logger := outages.Logger()
	policies, err := rules.NewPolicies(client, keys, o.Policy, logger)
	if err != nil {
		return nil, err
	}
	q, err := queue.New(client, o.Prefix, o.Queues, o.Polling)
	if err != nil {
		return nil, err
	}
	q = q.WithAhead(policies.Clock.Ahead)
	logs := o.Events.WithDefaults()
	logs.Prefix = o.Prefix
	follower, err := listen.NewFollower(client, logs, logger)
	if err != nil {
		return nil, err
	}
	b := &Backend{
		Events: logs, Listen: follower,
		Client: client, Keys: keys, Policies: policies, Looks: job.NewLooks(client, policies.Clock.Clock), Queue: q, AccountPlaces: o.AccountPlaces,
		Metrics: o.Metrics, Logger: logger, outages: outages, Tracer: tracing.New(o.TracerProvider, queue.Name(o.Prefix)),
		Timeline: o.Options,
	}
	b.Timeline.Rules, b.Timeline.Records = policies.Rules(), true
	b.Timeline.Subscribers, b.Timeline.Ahead = follower.Subscribers, policies.Clock.Ahead
	if b.Watch, err = messages.NewWatchList(client, b.Timeline); err != nil {
		return nil, err
	}
	b.Payers = newPayers(accounts.New(client, keys), func() time.Time { return policies.Clock.Local() })
	b.Activity = activity.New(client, keys, b.zone)
	if b.Forecasts, err = forecast.New(client, b.Timeline); err != nil {
		return nil, err
	}
	return b, nil
}

// Follow follows the policies and the listeners of events, logs the end of outages, and writes the
// counts of Activity, until the returned function is called. Programs that run for long need it.
func (b *Backend) Follow(ctx context.Context) (stop func()) {
	stopFlushing := b.StartFlushing()
	stopPolicies, stopOutages, stopListening := b.Policies.Follow(ctx, b.Looks), b.outages.Follow(ctx), b.Listen.Follow(ctx, b.Looks)
	stopLooks := b.Looks.Start(ctx)
	return func() {
		stopLooks()
		stopListening()
		stopPolicies()
		stopFlushing()
		stopOutages()
	}
}
