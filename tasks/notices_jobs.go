package tasks

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sendlimit/sendlimiter/sendlimit/notices"
)

// noticeJobs are what a worker does about notices every now and then: it hands
// those to the queue that the queue may not have, makes the hourly digests, and
// puts the daily reports. Any number of workers may do so at once.
type noticeJobs struct {
	notices *notices.Notices
	reports *reports
	queue   *queue
	clock   *clock
	deliver bool // there is something to announce notices by
	warned  bool // that there is not
	// gathered is the hour before which everything that was gathered is in a digest.
	gathered time.Time
	// kept is how long a notice waits that nothing announces, and forget ends one
	// that has waited for longer.
	kept   time.Duration
	forget func(ctx context.Context, id string) error
	logger *slog.Logger
}

// noticeEvery is about how often digests and reports are looked at; where notices
// are looked after more often than usual, these are, too.
const noticeEvery = time.Minute

// start runs the jobs, the look at what is due every so often, until the
// function returned is called, which waits for them to end.
func (j *noticeJobs) start(ctx context.Context, lookEvery time.Duration) func() {
	ctx, cancel := context.WithCancel(ctx)
	jobs := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DiscardLogger)), cron.WithLogger(cron.DiscardLogger))
	for _, job := range []struct {
		every time.Duration
		run   func(context.Context) error
	}{{lookEvery, j.relay}, {min(noticeEvery, 2*lookEvery), j.gather}, {min(noticeEvery, 2*lookEvery), j.report}} {
		jobs.Schedule(schedule(job.every), cron.FuncJob(func() {
			if err := job.run(ctx); err != nil && ctx.Err() == nil {
				j.logger.WarnContext(ctx, "could not look after every notice: the next pass does", "error", err)
			}
		}))
	}
	jobs.Start()
	return func() {
		cancel()
		<-jobs.Stop().Done()
	}
}

// relay hands every notice that is due to the queue. A second task of a notice
// does no harm: the claim lets one deliver it.
func (j *noticeJobs) relay(ctx context.Context) error {
	if !j.deliver {
		return j.endForgotten(ctx)
	}
	for {
		now := j.clock.now()
		due, unread := j.notices.Due(ctx, now, relayPerPartition)
		if len(due) == 0 {
			return unread
		}
		queued := make([]notices.QueuedNotice, 0, len(due))
		var failed error
		for _, notice := range due {
			if failed = j.queue.announce(ctx, notice.ID, time.Time{}); failed != nil {
				break
			}
			queued = append(queued, notices.QueuedNotice{ID: notice.ID, Due: now})
		}
		err := errors.Join(unread, failed, j.notices.Confirm(ctx, queued...))
		if len(queued) > 0 {
			j.logger.DebugContext(ctx, "put notices into the queue", "notices", len(queued))
		}
		if err != nil {
			return err
		}
	}
}

// endForgotten ends what has waited for so long that nobody wants to know any
// more, and says once that something waits.
func (j *noticeJobs) endForgotten(ctx context.Context) error {
	now := j.clock.now()
	waiting, err := j.notices.Due(ctx, now, 1)
	if len(waiting) == 0 {
		return err
	}
	if !j.warned {
		j.warned = true
		j.logger.WarnContext(ctx, "notices wait for something to announce them by: set up a mail server, see smtp_url",
			"oldest", waiting[0].Since)
	}
	forgotten, err := j.notices.Due(ctx, now.Add(-j.kept), relayPerPartition)
	for _, notice := range forgotten {
		err = errors.Join(err, j.forget(ctx, notice.ID))
	}
	return err
}

// gather makes the digests of the hours that are over, once in each hour.
func (j *noticeJobs) gather(ctx context.Context) error {
	until := notices.DigestsUntil(j.clock.now())
	if !until.After(j.gathered) {
		return nil
	}
	put, err := j.notices.Digest(ctx, until)
	if err == nil {
		j.gathered = until
	}
	if j.deliver {
		j.queue.announceAll(ctx, put, j.logger)
	}
	return err
}

// report puts the daily reports whose time has come.
func (j *noticeJobs) report(ctx context.Context) error {
	if !j.deliver {
		return nil
	}
	put, err := j.reports.put(ctx, j.clock.now())
	j.queue.announceAll(ctx, put, j.logger)
	return err
}
