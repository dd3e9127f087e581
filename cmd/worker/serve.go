package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/tasks"
)

// serve delivers until ctx ends; what was due before a time is dropped, where
// that is not zero. What can be wrong with the settings is looked at before the
// store is touched, and the store before anything is delivered.
func (p program) serve(ctx context.Context, flags *pflag.FlagSet, dropDueBefore time.Time) (err error) {
	settings, err := p.load(flags, config.NeedsPushTarget, config.ReplicasNeedRedis, store.ValidURL, validChannel)
	if err != nil {
		return err
	}
	logger := newLogger(p.stderr, settings)
	warnOfDropping(ctx, dropDueBefore, logger)
	channel, err := openChannel(settings, p.stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeChannel(channel)) }()
	endpoint, err := newEndpoint(ctx, settings.Listen)
	if err != nil {
		return err
	}
	defer endpoint.close()
	storage, err := openStorage(ctx, settings, logger)
	if err != nil {
		return err
	}
	defer func() {
		if errors.Is(err, tasks.ErrUnfinished) {
			logger.WarnContext(ctx, "stopped without waiting any longer for the store", "error", err)
			err = nil
			return // what still uses the store ends with the process
		}
		err = errors.Join(err, storage.close())
	}()

	measured, err := newMetrics(storage.client, settings.Prefix)
	if err != nil {
		return err
	}
	if err := prepare(ctx, storage.client, settings, logger); err != nil {
		return err
	}
	worker, err := newWorker(storage.client, settings, channel, measured.tasks, dropDueBefore, logger)
	if err != nil {
		return err
	}
	if storage.embedded != nil {
		if err := p.greet(ctx, storage.embedded.Address(), settings, logger); err != nil {
			return err
		}
	}
	return deliver(ctx, worker, endpoint, answers(storage.client, settings.Prefix, measured, logger), logger)
}

// answers are those of the endpoint.
func answers(client redis.UniversalClient, prefix string, m *metrics, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", healthHandler(client, logger))
	mux.Handle("GET /readyz", readyHandler(client, prefix))
	mux.Handle("GET /metrics", m.handler(logger))
	return mux
}

func newWorker(
	client redis.UniversalClient, c config.Config, channel notifier.Notifier, m *tasks.Metrics,
	dropDueBefore time.Time, logger *slog.Logger,
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
		OnUncertain:     tasks.OnUncertain(c.OnUncertain),
		Tolerance:       c.Tolerance,
		DropDueBefore:   dropDueBefore,
		Metrics:         m,
		Logger:          logger,
	})
}

// deliver runs the worker, and beside it the endpoint, which answers until the
// last delivery is done. Where one of the two fails, both end.
func deliver(
	ctx context.Context, worker *tasks.Worker, endpoint *endpoint, answers http.Handler, logger *slog.Logger,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- endpoint.serve(ctx, answers, logger)
	}()
	err := worker.Run(ctx)
	stop()
	return errors.Join(err, endpoint.shutdown(context.WithoutCancel(ctx)), <-served)
}
