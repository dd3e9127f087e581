package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// lastAnswersWithin is the least time for requests to end after the last delivery.
const lastAnswersWithin = 5 * time.Second

// service is a worker that is ready to run.
type service struct {
	work      func(context.Context) error // until its context ends
	endpoints endpoints
	api       *apiServer
	timeout   time.Duration // to finish running work
	logger    *slog.Logger
}

// drained returns a context that ends a delay after ctx, or at the next signal. When ctx ends, it
// calls begin first, which makes the worker unready. So load balancers have the delay to send
// requests elsewhere, and meanwhile none fails.
func drained(
	ctx context.Context, delay time.Duration, await func() <-chan struct{}, begin func(), logger *slog.Logger,
) (context.Context, context.CancelFunc) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	noLonger := context.AfterFunc(ctx, func() {
		defer stop()
		begin()
		if delay == 0 {
			return
		}
		var again <-chan struct{}
		if await != nil {
			again = await()
		}
		logger.InfoContext(ctx, "not ready any more, and still serving: another signal ends the wait", "drain_delay", delay)
		waited := time.NewTimer(delay)
		defer waited.Stop()
		select {
		case <-waited.C:
		case <-again:
		case <-running.Done():
		}
	})
	return running, func() {
		noLonger()
		stop()
	}
}

// run delivers and serves until ctx ends. Then the API starts no more operations, and the endpoints
// answer until the last delivery is done and the last request is answered. If either fails, both
// end.
func (s service) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan time.Time, 1)
	context.AfterFunc(ctx, func() {
		s.api.stop()
		stopped <- time.Now()
	})
	served := make(chan error, 1)
	go func() { served <- s.endpoints.serve(ctx, stop, s.api, s.api.admin, s.logger) }()
	err := s.work(ctx)
	stop()

	within := max(time.Until((<-stopped).Add(s.timeout)), lastAnswersWithin)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	return errors.Join(err, s.endpoints.shutdown(last, s.logger), <-served)
}
