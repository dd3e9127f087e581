package serve

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/records/activity"
)

// summarize logs at the end of each minute what this process did in it, if anything, until the
// returned function is called, which logs the rest.
func summarize(ctx context.Context, counted *activity.Log, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		for {
			now := time.Now()
			next := time.NewTimer(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
			select {
			case <-ctx.Done():
				next.Stop()
				logSummary(ctx, counted.TakeFlushed(), logger)
				return
			case <-next.C:
				logSummary(ctx, counted.TakeFlushed(), logger)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// logSummary logs the figures that are not zero. It names no user and no message.
func logSummary(ctx context.Context, c activity.Counts, logger *slog.Logger) {
	var attributes []any
	add := func(name string, n int64) {
		if n > 0 {
			attributes = append(attributes, name, n)
		}
	}
	add("accepted", c.Accepted)
	add("refused", activity.Total(c.Refused))
	add("delivered", c.Delivered)
	add("late", c.Late)
	if p99, ok := c.Lateness.Quantile(0.99); ok {
		attributes = append(attributes, "late_p99", p99.Round(time.Millisecond))
	}
	add("postponed", c.Postponed)
	add("dropped", activity.Total(c.Dropped))
	add("failed", activity.Total(c.Failed))
	add("cancelled", c.Cancelled)
	if len(attributes) > 0 {
		logger.InfoContext(ctx, "in the last minute", attributes...)
	}
}
