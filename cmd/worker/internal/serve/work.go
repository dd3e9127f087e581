package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	delivering "github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// work is the part of a worker beside the API.
type work struct {
	run     func(context.Context) error // until its context ends
	release func() error                // after that
	held    *heldBack                   // nil unless the settings say deliver and the worker must not
}

// openWork opens the work of the settings. A worker that is held back opens nothing, since some
// channels log in when they are opened.
func openWork(
	ctx context.Context, log io.Writer, b *backend.Backend, c config.Config, o startOptions, logger *slog.Logger,
) (work, error) {
	switch {
	case c.Deliver:
		held, err := takeAddress(ctx, b.Client, c, o.takesOver(), logger)
		if err != nil {
			return work{}, err
		}
		if held != nil {
			wait := func(ctx context.Context) error { return waitForStop(ctx, b, c, logger) }
			return work{run: wait, release: nothing, held: held}, nil
		}
		return openDeliveries(ctx, log, b, c, o.dropDueBefore, logger)
	case c.Relays():
		relay, err := tasks.NewRelay(b, tasks.RelayOptions{})
		if err != nil {
			return work{}, err
		}
		return work{run: relay.Run, release: nothing}, nil
	}
	return work{release: nothing, run: func(ctx context.Context) error {
		logger.InfoContext(ctx, "serving only the API: other workers on the store deliver the messages")
		if c.RedisURL == "" {
			logger.WarnContext(ctx, "the embedded store is empty, and its messages are delivered only once a worker"+
				" that delivers has its address as redis_url")
		}
		return waitForStop(ctx, b, c, logger)
	}}, nil
}

func nothing() error { return nil }

func openDeliveries(
	ctx context.Context, log io.Writer, b *backend.Backend, c config.Config, dropDueBefore time.Time, logger *slog.Logger,
) (work, error) {
	now := b.Policies.Clock.Now // of the store, since this machine's clock may be wrong
	opened, err := channels.OpenAll(ctx, c, now, log, logger)
	if err != nil {
		return work{}, err
	}
	announcer, err := channels.OpenNotices(ctx, c, now, log, logger)
	if err != nil {
		return work{}, errors.Join(err, channels.CloseAll(opened))
	}
	posts, err := channels.OpenCallbacks(c, now)
	if err != nil {
		return work{}, errors.Join(err, channels.CloseAll(opened), announcer.Close())
	}
	release := func() error { return errors.Join(channels.CloseAll(opened), announcer.Close(), posts.Close()) }
	worker, err := newWorker(b, c, opened, announcer, posts, dropDueBefore)
	if err != nil {
		return work{}, errors.Join(err, release())
	}
	return work{run: worker.Run, release: release}, nil
}

// waitForStop is the work of a worker that does not deliver.
func waitForStop(ctx context.Context, b *backend.Backend, c config.Config, logger *slog.Logger) error {
	defer b.Follow(ctx)()
	<-ctx.Done()
	logger.InfoContext(ctx, "stopping: finishing running deliveries", "within", c.ShutdownTimeout)
	return nil
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
