package job

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Periodic is work that is repeated.
type Periodic struct {
	Every time.Duration // about how often
	Soon  bool          // it first runs at once
	Run   func(context.Context) error
	// Failed is logged with the error of a run. A job that failed runs again at its
	// next time.
	Failed string
}

// Start runs jobs until the returned function is called. That function ends the context of
// the runs and waits for them. A job never runs twice at the same time: a long run skips
// the times that it misses.
func Start(ctx context.Context, logger *slog.Logger, jobs ...Periodic) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	runner := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DiscardLogger)), cron.WithLogger(cron.DiscardLogger))
	for _, job := range jobs {
		runner.Schedule(&jittered{every: job.Every, soon: job.Soon}, cron.FuncJob(func() {
			if err := job.Run(ctx); err != nil && ctx.Err() == nil {
				logger.WarnContext(ctx, job.Failed, "error", err) //nolint:sloglint // a sentence of the job, fixed in the code
			}
		}))
	}
	runner.Start()
	return func() {
		cancel()
		<-runner.Stop().Done()
	}
}

// Background runs work until the returned function is called. That function ends the context of
// the work and waits for it.
func Background(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { work(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// Repeat is Background for work that is done again and again.
func Repeat(ctx context.Context, pause time.Duration, work func(context.Context)) (stop func()) {
	return Background(ctx, func(ctx context.Context) {
		for storeclock.Sleep(ctx, nil, pause) {
			work(ctx)
		}
	})
}

// jittered runs a job after three quarters to all of its interval, so that workers do not all run
// theirs at once, but one that takes a turn for less than that keeps the others from it.
type jittered struct {
	every time.Duration
	soon  bool // the next time is now
}

// Next implements cron.Schedule.
func (j *jittered) Next(from time.Time) time.Time {
	if j.soon {
		j.soon = false
		return from
	}
	return from.Add(j.every - rand.N(j.every/4+1))
}
