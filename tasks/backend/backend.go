package backend

import (
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// Options are what the parts of a program have to agree about. All programs on one
// store should have the same. The zero value is the default policy under the default
// prefix.
type Options struct {
	Prefix      string        // of keys and queue; "" means keyspace.DefaultPrefix
	Policy      string        // name of the policy for users whose settings name none; "" means policy.DefaultName
	Reach       time.Duration // how far ahead a send time may lie; zero means policy.DefaultReach
	KeepRecords time.Duration // how long a record outlives its message; zero means sendlimit.DefaultKeepRecords
	ExpireAfter time.Duration // when a message without an expiry expires; zero means sendlimit.DefaultExpireAfter
	// LookAfter and OverdueAfter are as in sendlimit.Options.
	LookAfter, OverdueAfter time.Duration
	Polling                 queue.Polling    // how often workers ask the queue for work
	Metrics                 *metrics.Metrics // nil means none
	Logger                  *slog.Logger     // nil means none
}

// Backend is a store with its queue, opened for the parts of a program. It needs no
// closing. The client has to stay open for as long as the parts.
type Backend struct {
	Client   redis.UniversalClient
	Prefix   string            // as given
	Limits   sendlimit.Options // of a Timeline, a Gate and the like, with records
	Policies *rules.Policies   // the rules in Limits
	Queue    *queue.Queue
	Polling  queue.Polling
	Watch    *messages.WatchList
	Metrics  *metrics.Metrics // nil for none
	Logger   *slog.Logger
}

// Open returns the backend in the store behind client. The error is a
// *fault.InvalidError.
func Open(client redis.UniversalClient, o Options) (*Backend, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	policies, err := rules.NewPolicies(client, rules.PoliciesOptions{Prefix: o.Prefix, Policy: o.Policy, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	q, err := queue.New(client, o.Prefix, o.Polling)
	if err != nil {
		return nil, err
	}
	b := &Backend{
		Client: client, Prefix: o.Prefix, Policies: policies, Queue: q, Polling: o.Polling,
		Metrics: o.Metrics, Logger: o.Logger,
		Limits: sendlimit.Options{
			Prefix: o.Prefix, Rules: policies.Rules(), Records: true,
			Reach: o.Reach, KeepRecords: o.KeepRecords, ExpireAfter: o.ExpireAfter,
			LookAfter: o.LookAfter, OverdueAfter: o.OverdueAfter,
		},
	}
	if b.Watch, err = messages.NewWatchList(client, b.Limits); err != nil {
		return nil, err
	}
	return b, nil
}
