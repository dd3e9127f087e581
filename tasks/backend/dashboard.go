package backend

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
	"github.com/sendlimit/sendlimiter/tasks/internal/jobs"
)

// flushWithin bounds a write of what became of messages.
const flushWithin = 2 * time.Second

// startFlushing writes once a second what became of messages, and once more when it is
// closed. A failure is only logged.
func (b *Backend) startFlushing() *batch.Loop[struct{}] {
	flush := func(ctx context.Context, _ []struct{}) bool {
		if err := b.Activity.Flush(ctx); err != nil {
			b.Logger.WarnContext(ctx, "could not write what became of messages: it is kept for the next time", "error", err)
			return false
		}
		return true
	}
	flushing := batch.NewLoop(batch.Options{Every: time.Second, Within: flushWithin}, flush)
	flushing.Start()
	return flushing
}

// FlushActivity writes what became of messages since the last write. A failure is only
// logged. Programs that do not Follow call it at their end; it does not need their context.
func (b *Backend) FlushActivity() { b.startFlushing().Close() }

// forecastEvery is about how often a program asks for the turn to count what is due. That is
// a call of a few microseconds.
const forecastEvery = 5 * time.Second

// KeepForecast counts what is due when, for forecast.Latest, until the returned function is
// called. Of all programs that do so on a store, one counts at a time.
func (b *Backend) KeepForecast(ctx context.Context) (stop func()) {
	return jobs.Start(ctx, b.Logger, jobs.Job{
		Every: forecastEvery, Soon: true,
		Run: func(ctx context.Context) error {
			_, err := b.Forecasts.Keep(ctx, time.Time{})
			return err
		},
		Failed: "could not count what is due when: trying again",
	})
}
