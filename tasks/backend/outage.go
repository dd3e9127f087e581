package backend

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/logs"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// AskEvery is how often an OutageWatch asks during an outage whether the store is back.
	AskEvery = 2 * time.Second
	// askWithin is how long the store may take to answer that.
	askWithin = 2 * time.Second
)

// OutageWatch keeps a log short while the store is away: it logs once that the store stopped
// answering, and once that it is back. It notices outages by the warnings about the store, and makes no
// calls without them. Package logs limits all other warnings. It is safe for concurrent use.
type OutageWatch struct {
	client  redis.Cmdable
	logger  *slog.Logger
	local   func() time.Time
	limiter *logs.Limiter

	asking chan struct{} // held by the caller that asks the store
	since  time.Time     // when the outage was noticed; zero for none
	asked  time.Time     // when the store was last asked
}

// NewOutageWatch returns a watch of the store behind client. It logs outages to logger.
func NewOutageWatch(client redis.Cmdable, logger *slog.Logger) *OutageWatch {
	local := storeclock.New().Local
	return &OutageWatch{
		client: client, logger: logger, local: local, limiter: logs.NewLimiter(local), asking: make(chan struct{}, 1),
	}
}

// Follow notices the end of outages, and logs the number of lines that were left out, until the
// returned function is called. Without Follow the next warning does.
func (w *OutageWatch) Follow(ctx context.Context) (stop func()) {
	stopAsking := job.Repeat(ctx, AskEvery, func(ctx context.Context) {
		w.asking <- struct{}{}
		if !w.since.IsZero() {
			w.ask(ctx)
		}
		<-w.asking
		w.limiter.Flush(ctx, false)
	})
	return func() {
		stopAsking()
		w.limiter.Flush(context.WithoutCancel(ctx), true)
	}
}

// away reports whether there is an outage. If necessary it asks the store.
func (w *OutageWatch) away(ctx context.Context) bool {
	w.asking <- struct{}{}
	defer func() { <-w.asking }()
	if w.since.IsZero() || w.local().Sub(w.asked) >= AskEvery {
		w.ask(context.WithoutCancel(ctx))
	}
	return !w.since.IsZero()
}

// ask asks the store whether it answers, and logs changes.
func (w *OutageWatch) ask(ctx context.Context) {
	within, done := context.WithTimeout(ctx, askWithin)
	defer done()
	err := w.client.Ping(within).Err()
	if ctx.Err() != nil {
		return
	}
	w.asked = w.local()
	switch {
	case err != nil && w.since.IsZero():
		w.since = w.asked
		w.logger.WarnContext(ctx, "Redis does not answer", "error", err)
	case err == nil && !w.since.IsZero():
		w.logger.InfoContext(ctx, "Redis is back", "after", w.asked.Sub(w.since).Round(time.Millisecond))
		w.since = time.Time{}
	}
}
