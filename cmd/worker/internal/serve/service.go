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
