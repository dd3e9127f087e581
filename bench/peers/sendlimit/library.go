package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

const (
	connections = 128 // as many as the worker has
	// horizon is the shortest that a worker allows: messages that are due in half a minute then wait in
	// the schedule, like those of later days. The default is 2 minutes.
	horizon = 15 * time.Second
)

// library implements side.Product.
type library struct {
	client    *redis.Client
	submitter *submit.Submitter
	pending   *messages.WatchList
	stop      func() error // of the worker; nil in a submitter
}

// Open implements side.Product.
func (l *library) Open(ctx context.Context, store string, deliver func(id string) error) (string, error) {
	options, err := redis.ParseURL(store)
	if err != nil {
		return "", fmt.Errorf("address of the store: %w", err)
	}
	options.PoolSize, options.ContextTimeoutEnabled = connections, true
	l.client = redis.NewClient(options)
	if _, err := settings.NewPolicies(l.client, keyspace.KeysUnder("")).Seed(ctx, policy.Default()); err != nil {
		return "", fmt.Errorf("store the policy: %w", err)
	}
	opened, err := backend.Open(l.client, backend.Options{Options: sendlimit.Options{Horizon: horizon}})
	if err != nil {
		return "", fmt.Errorf("open the store: %w", err)
	}
	if l.submitter, err = submit.New(opened, submit.Options{Batch: true}); err != nil {
		return "", fmt.Errorf("submitter: %w", err)
	}
	if l.pending, err = messages.NewWatchList(l.client, sendlimit.Options{Horizon: horizon}); err != nil {
		return "", fmt.Errorf("schedule: %w", err)
	}
	if deliver != nil {
		if l.stop, err = work(ctx, opened, deliver); err != nil {
			return "", err
		}
	}
	return "Submitter with Batch, Worker; horizon " + horizon.String(), nil
}

// work starts a worker, and returns a function that ends it.
func work(ctx context.Context, opened *backend.Backend, deliver func(id string) error) (func() error, error) {
	worker, err := tasks.NewWorker(opened, tasks.WorkerOptions{Notifier: recorder{deliver}})
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(running) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// recorder is a notifier that records each delivery.
type recorder struct{ deliver func(id string) error }

// Notify implements notifier.Notifier.
func (r recorder) Notify(_ context.Context, n notifier.Notification) notifier.Result {
	if err := r.deliver(n.ID); err != nil {
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: err}
	}
	return notifier.Result{Status: notifier.Delivered}
}

// Submit implements side.Product.
func (l *library) Submit(ctx context.Context, m side.Message) (bool, error) {
	o, err := l.submitter.Submit(ctx, message.Message{ID: m.ID, User: m.User, SendAt: m.At, Title: side.Title, Body: side.Body})
	if err != nil {
		return false, fmt.Errorf("submit: %w", err)
	}
	switch o.Outcome {
	case message.Accepted:
		return true, nil
	case message.Refused:
		return false, nil
	default:
		return false, fmt.Errorf("submit: %s: %s", o.Outcome, o.Detail)
	}
}

// Pending implements side.Product.
func (l *library) Pending(ctx context.Context) (int, error) {
	n, err := l.pending.Pending(ctx)
	if err != nil {
		return 0, fmt.Errorf("count the pending messages: %w", err)
	}
	return n, nil
}

// Close implements side.Product.
func (l *library) Close() error {
	var err error
	if l.stop != nil {
		err = l.stop()
	}
	return errors.Join(err, l.submitter.Close(), l.client.Close())
}
