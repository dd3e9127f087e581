package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	delivering "github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// serve delivers and serves the API until ctx ends. It drops messages that were due before
// dropDueBefore, if that is not zero. It checks the settings before it touches the store,
// and the store before it delivers.
func serve(ctx context.Context, p cli.Program, flags *pflag.FlagSet, dropDueBefore time.Time) (err error) {
	settings, err := p.Load(flags, slices.Concat([]config.Check{
		config.NeedsPushTarget, config.HasSomethingToDo, config.ReplicasNeedRedis, config.BurstHasRate, config.BothOfTLS, config.SharesOfAccounts, store.ValidURL, channels.ValidPush,
		channels.ContactsMayBeSet,
	}, channels.ValidNotices(), channels.ValidDevices())...)
	if err != nil {
		return err
	}
	if !settings.Deliver && !dropDueBefore.IsZero() {
		return fault.Wrong(dropFlag, "--drop-due-before needs a worker that delivers: deliver is false")
	}
	logger := newLogger(p.Stderr, cli.NewPalette(p.Stderr, p.Getenv), p.Names, settings)
	logStart(ctx, settings, logger)
	warnOfDropping(ctx, dropDueBefore, logger)
	endpoints, err := listen(ctx, settings, logger)
	if err != nil {
		return err
	}
	defer endpoints.close()
	traces, err := startTraces(ctx, p, logger)
	if err != nil {
		return err
	}
	defer traces.Stop(ctx, min(flushWithin, settings.ShutdownTimeout))
	storage, err := openStorage(ctx, settings, logger)
	if err != nil {
		return err
	}
	defer func() {
		if errors.Is(err, tasks.ErrUnfinished) {
			logger.WarnContext(ctx, "stopped without waiting any longer for the store", "error", err)
			err = nil
			return // goroutines use the store until the process ends
		}
		storage.warnOfLoss(ctx, settings.Prefix, logger)
		if err = errors.Join(err, storage.close()); err == nil {
			logger.InfoContext(ctx, "stopped")
		}
	}()

	measured, err := newMetrics(storage.client, settings.Prefix)
	if err != nil {
		return err
	}
	if err := prepare(ctx, storage.client, settings, logger); err != nil {
		return err
	}
	accounts, err := openAccounts(ctx, storage.client, settings, logger)
	if err != nil {
		return err
	}
	options := store.BackendOptions(settings)
	options.Metrics, options.Logger, options.TracerProvider = measured.tasks, logger, traces.Provider()
	if options.TracerProvider != nil {
		storage.client.AddHook(tracing.Hook())
	}
	b, err := backend.Open(storage.client, options)
	if err != nil {
		return err
	}
	if err := b.Listen.Load(ctx); err != nil {
		return err
	}
	if err := measured.watchClock(b); err != nil {
		return err
	}
	logger = b.Logger
	work, release, err := openWork(ctx, p.Stdout, b, settings, dropDueBefore, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	served, err := newAPIServer(b, settings, accounts, measured, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.close()) }()
	if storage.embedded != nil {
		if err := greet(ctx, p, storage.embedded.Address(), settings, logger); err != nil {
			return err
		}
	}
	defer storage.watchSize(ctx, settings.Prefix, logger)()
	defer b.KeepForecast(ctx)()
	defer summarize(ctx, b.Activity, logger)()
	s := service{work: work, endpoints: endpoints, api: served, timeout: settings.ShutdownTimeout, logger: logger}
	return s.run(ctx)
}

// openWork returns the worker's work beside the API until its context ends, and a function
// to call after that.
func openWork(
	ctx context.Context, log io.Writer, b *backend.Backend, c config.Config, dropDueBefore time.Time, logger *slog.Logger,
) (work func(context.Context) error, release func() error, err error) {
	if !c.Deliver && c.Relays() {
		relay, err := tasks.NewRelay(b, tasks.RelayOptions{})
		if err != nil {
			return nil, nil, err
		}
		return relay.Run, func() error { return nil }, nil
	}
	if !c.Deliver {
		wait := func(ctx context.Context) error {
			defer b.Follow(ctx)()
			waitForStop(ctx, c, logger)
			return nil
		}
		return wait, func() error { return nil }, nil
	}
	opened, err := channels.OpenAll(ctx, c, log, logger)
	if err != nil {
		return nil, nil, err
	}
	announcer, err := channels.OpenNotices(ctx, c, log, logger)
	if err != nil {
		return nil, nil, errors.Join(err, channels.CloseAll(opened))
	}
	posts, err := channels.OpenCallbacks(c)
	if err != nil {
		return nil, nil, errors.Join(err, channels.CloseAll(opened), announcer.Close())
	}
	release = func() error { return errors.Join(channels.CloseAll(opened), announcer.Close(), posts.Close()) }
	worker, err := newWorker(b, c, opened, announcer, posts, dropDueBefore)
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return worker.Run, release, nil
}

// waitForStop is the work of a worker that does not deliver.
func waitForStop(ctx context.Context, c config.Config, logger *slog.Logger) {
	logger.InfoContext(ctx, "serving the API alone: what is accepted is delivered by other workers on the store")
	if c.RedisURL == "" {
		logger.WarnContext(ctx, "the embedded store begins empty, and nothing is delivered from it before a worker"+
			" that delivers has its address as redis_url")
	}
	<-ctx.Done()
	logger.InfoContext(ctx, "stopping: finishing what runs", "within", c.ShutdownTimeout)
}

func newWorker(
	b *backend.Backend, c config.Config, opened []channels.Opened, announcer notifier.Announcer, posts callbacks.Poster,
	dropDueBefore time.Time,
) (*tasks.Worker, error) {
	ramp := c.Ramp
	if ramp == 0 {
		ramp = -1 // none
	}
	setups := make([]delivering.Setup, len(opened))
	for i, o := range opened {
		setups[i] = delivering.Setup{Name: o.Name, Notifier: o.Notifier, HasDevices: o.HasDevices, Ramp: ramp}
	}
	return tasks.NewWorker(b, tasks.WorkerOptions{
		Channels:        setups,
		Announcer:       announcer,
		Callbacks:       posts,
		EventsGiveUp:    c.EventsGiveUp,
		EventsRate:      c.EventsRate,
		PushTimeout:     c.PushTimeout,
		Deliveries:      c.Deliveries,
		Retries:         retry.Policy{Min: c.RetryMin, Max: c.RetryMax, Attempts: c.MaxAttempts},
		AlertRetries:    retry.Span{Min: c.AlertRetryMin, Max: c.AlertRetryMax, For: c.AlertRetryFor},
		ShutdownTimeout: c.ShutdownTimeout,
		OnUncertain:     deliver.OnUncertain(c.OnUncertain),
		Tolerance:       c.Tolerance,
		DropDueBefore:   dropDueBefore,
		WithoutRelay:    !c.Relays(),
	})
}
