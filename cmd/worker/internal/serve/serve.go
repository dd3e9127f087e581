package serve

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/internal/tracing"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	messagetracing "github.com/sendlimit/sendlimiter/tasks/tracing"
)

// flushWithin bounds how long a stopped worker sends its last spans. A collector that is away must
// not delay it.
const flushWithin = 5 * time.Second

// serve delivers and serves the API until ctx ends. It checks the settings before it touches
// the store, and the store before it delivers.
func serve(ctx context.Context, p cli.Program, flags *pflag.FlagSet, o startOptions) (err error) {
	settings, err := p.Load(
		flags, config.NeedsPushTarget, config.HasSomethingToDo, config.ReplicasNeedRedis, config.BurstHasRate, config.BothOfTLS, config.SharesOfAccounts, store.ValidURL, channels.ValidPush,
		channels.ContactsMayBeSet, channels.ValidNotices, channels.ValidDevices,
	)
	if err != nil {
		return err
	}
	if flag := o.given(); flag != "" && !settings.Deliver {
		return fault.Wrong(flag, "--%s requires deliver: true", flag)
	}
	logger := newLogger(p.Stderr, cli.NewPalette(p.Stderr, p.Getenv), p.Names, settings)
	logStart(ctx, settings, logger)
	for _, unknown := range settings.Ignored {
		logger.WarnContext(ctx, "a setting is ignored", "detail", unknown)
	}
	warnOfDropping(ctx, o.dropDueBefore, logger)
	endpoints, err := listen(ctx, settings, logger)
	if err != nil {
		return err
	}
	defer endpoints.close()
	traces, err := tracing.Start(ctx, tracing.Program{Name: "sendlimit-worker", Version: cli.Version(), Getenv: p.Getenv}, logger)
	if err != nil {
		return err
	}
	defer traces.Stop(ctx, min(flushWithin, settings.ShutdownTimeout))
	storage, err := openStorage(settings, logger)
	if err != nil {
		return err
	}
	defer func() {
		if errors.Is(err, tasks.ErrUnfinished) {
			logger.WarnContext(ctx, "stopped without waiting longer for the store", "error", err)
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
	defer measured.close()
	if err := prepare(ctx, storage.client, settings, !o.dropDueBefore.IsZero(), logger); err != nil {
		return err
	}
	accounts, err := openAccounts(ctx, storage.client, settings, logger)
	if err != nil {
		return err
	}
	options := store.BackendOptions(settings)
	options.Metrics, options.Logger, options.TracerProvider = measured.tasks, logger, traces.Provider()
	if options.TracerProvider != nil {
		storage.client.AddHook(messagetracing.Hook())
	}
	b, err := backend.Open(storage.client, options)
	if err != nil {
		return err
	}
	if err := b.Listen.Load(ctx); err != nil {
		return err
	}
	logger = b.Logger
	w, err := openWork(ctx, p.Stdout, b, settings, o, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.release()) }()
	if err := measured.watch(b, w.held != nil); err != nil {
		return err
	}
	served, err := newAPIServer(b, settings, accounts, measured, w.held, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.close()) }()
	if storage.embedded != nil {
		base, _, err := operations.WorkerAt(endpoints.api.listener.Addr().String(), settings.TLSCert)
		if err != nil {
			return err
		}
		if err := greet(ctx, p, base, settings, logger); err != nil {
			return err
		}
	}
	if w.held != nil {
		if err := w.held.tell(ctx, p, settings, logger); err != nil {
			return err
		}
	}
	delay := settings.DrainDelay
	if settings.Listen == "" {
		delay = 0 // nobody sends requests
	}
	ctx, stop := drained(ctx, delay, p.Await, served.drain, logger)
	defer stop()
	defer storage.watchSize(ctx, settings.Prefix, logger)()
	defer b.Forecasts.Close()
	defer summarize(ctx, b.Activity, logger)()
	s := service{work: w.run, endpoints: endpoints, api: served, timeout: settings.ShutdownTimeout, logger: logger}
	return s.run(ctx)
}
