package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/tasks"
)

// serve delivers until ctx ends. What can be wrong with the settings is looked
// at before the store is touched, and the store before anything is delivered.
func (p program) serve(ctx context.Context, flags *pflag.FlagSet) (err error) {
	settings, err := p.load(flags, config.NeedsPushTarget, store.ValidURL, validChannel)
	if err != nil {
		return err
	}
	logger := newLogger(p.stderr, settings)
	channel, err := openChannel(settings, p.stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeChannel(channel)) }()
	health, err := newHealth(ctx, settings.Listen)
	if err != nil {
		return err
	}
	defer health.close()
	storage, err := openStorage(ctx, settings, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, storage.close()) }()

	if err := prepare(ctx, storage.client, settings, logger); err != nil {
		return err
	}
	worker, err := newWorker(storage.client, settings, channel, logger)
	if err != nil {
		return err
	}
	if storage.embedded != nil {
		if err := p.greet(ctx, storage.embedded.Address(), settings, logger); err != nil {
			return err
		}
	}
	return deliver(ctx, worker, health, storage.client, logger)
}

func newWorker(
	client redis.UniversalClient, c config.Config, channel notifier.Notifier, logger *slog.Logger,
) (*tasks.Worker, error) {
	return tasks.NewWorker(client, tasks.WorkerOptions{
		Prefix:          c.Prefix,
		Notifier:        channel,
		Reach:           c.Reach,
		KeepRecords:     c.KeepRecords,
		ExpireAfter:     c.ExpireAfter,
		PushTimeout:     c.PushTimeout,
		Deliveries:      c.Deliveries,
		Retries:         tasks.RetryPolicy{Min: c.RetryMin, Max: c.RetryMax, Attempts: c.MaxAttempts},
		ShutdownTimeout: c.ShutdownTimeout,
		Logger:          logger,
	})
}

// deliver runs the worker, and beside it the health endpoint, which answers
// until the last delivery is done. Where one of the two fails, both end.
func deliver(
	ctx context.Context, worker *tasks.Worker, health *health, client redis.UniversalClient, logger *slog.Logger,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- health.serve(ctx, client, logger)
	}()
	err := worker.Run(ctx)
	stop()
	return errors.Join(err, health.shutdown(context.WithoutCancel(ctx)), <-served)
}
