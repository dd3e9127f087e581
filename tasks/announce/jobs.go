package announce

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// NoticeJobs are the jobs for notices that every worker repeats: enqueue the notices that
// the queue may not have, make the hourly digests, and put the daily reports. Any number
// of workers may run them at once.
type NoticeJobs struct {
	Notices    *notices.Outbox
	Reports    *Reports
	Queue      *queue.Queue
	Clock      *storeclock.Clocks
	Deliver    bool // the worker has an announcer
	warned     bool // it has logged that it has none
	unreadable int  // notices, at the last pass
	// gathered is the hour before which all gathered alerts are in a digest.
	gathered time.Time
	// Kept is how long a notice waits for an announcer. Forget ends one that has waited
	// longer.
	Kept   time.Duration
	Forget func(ctx context.Context, id string) error
	Logger *slog.Logger
}

// noticeEvery is about how often to look for digests and reports. A shorter lookEvery of
// Start makes it shorter too.
const noticeEvery = time.Minute

// perPartition is how many due notices of a partition are read at a time.
const perPartition = 100

// Start runs the jobs, and looks for due notices every lookEvery, until the returned
// function is called. That function waits for the jobs to end.
func (j *NoticeJobs) Start(ctx context.Context, lookEvery time.Duration) func() {
	const failed = "could not look after every notice: the next pass does"
	return job.Start(ctx, j.Logger,
		job.Periodic{Every: lookEvery, Run: j.unlessStepped(j.relay), Failed: failed},
		job.Periodic{Every: min(noticeEvery, 2*lookEvery), Run: j.unlessStepped(j.gather), Failed: failed},
		job.Periodic{Every: min(noticeEvery, 2*lookEvery), Run: j.unlessStepped(j.report), Failed: failed})
}

// unlessStepped returns a job that does nothing while a step of the store's clock is waited
// out: what is due, or over, by that clock may not be.
func (j *NoticeJobs) unlessStepped(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if j.Clock.Stepped() != (storeclock.Step{}) {
			return nil
		}
		return run(ctx)
	}
}

// relay enqueues every due notice. A second task of a notice does no harm: the claim lets
// one deliver it.
func (j *NoticeJobs) relay(ctx context.Context) error {
	if !j.Deliver {
		return j.endForgotten(ctx)
	}
	for {
		now := j.Clock.Now()
		due, unreadable, unread := j.Notices.Due(ctx, now, perPartition)
		if unreadable > j.unreadable {
			j.Logger.WarnContext(ctx, "the outbox has notices that this program can't read: it passes them over;"+
				" a newer worker looks after what it wrote", "notices", unreadable)
		}
		j.unreadable = unreadable
		if len(due) == 0 {
			return unread
		}
		queued := make([]notices.Queued, 0, len(due))
		var failed error
		for _, notice := range due {
			if failed = j.Queue.EnqueueNotice(ctx, notice.ID, time.Time{}); failed != nil {
				break
			}
			queued = append(queued, notices.Queued{ID: notice.ID, Due: now})
		}
		err := errors.Join(failed, j.Notices.Confirm(ctx, queued...))
		if len(queued) > 0 {
			j.Logger.DebugContext(ctx, "put notices into the queue", "notices", len(queued))
		}
		if err != nil {
			return errors.Join(unread, err)
		}
	}
}

// endForgotten ends notices that have waited longer than Kept, and logs once that notices
// wait.
func (j *NoticeJobs) endForgotten(ctx context.Context) error {
	now := j.Clock.Now()
	waiting, _, err := j.Notices.Due(ctx, now, 1)
	if len(waiting) == 0 {
		return err
	}
	if !j.warned {
		j.warned = true
		j.Logger.WarnContext(ctx, "notices wait for something to announce them by: set up a mail server, see email_url",
			"oldest", waiting[0].Since)
	}
	forgotten, _, err := j.Notices.Due(ctx, now.Add(-j.Kept), perPartition)
	for _, notice := range forgotten {
		err = errors.Join(err, j.Forget(ctx, notice.ID))
	}
	return err
}

// gather makes the digests of past hours, once in each hour.
func (j *NoticeJobs) gather(ctx context.Context) error {
	until := notices.DigestsUntil(j.Clock.Now())
	if !until.After(j.gathered) {
		return nil
	}
	put, err := j.Notices.Digest(ctx, until)
	if err == nil {
		j.gathered = until
	}
	if j.Deliver {
		j.Queue.EnqueueNotices(ctx, put, j.Logger)
	}
	return err
}

// report puts the due daily reports.
func (j *NoticeJobs) report(ctx context.Context) error {
	if !j.Deliver {
		return nil
	}
	put, err := j.Reports.Put(ctx, j.Clock.Now())
	j.Queue.EnqueueNotices(ctx, put, j.Logger)
	return err
}
