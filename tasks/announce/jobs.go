package announce

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/tasks/internal/jobs"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/report"
)

// NoticeJobs are what a worker does about notices every now and then: it hands
// those to the queue that the queue may not have, makes the hourly digests, and
// puts the daily reports. Any number of workers may do so at once.
type NoticeJobs struct {
	Notices *notices.Outbox
	Reports *report.Reports
	Queue   *queue.Queue
	Clock   *storeclock.Clock
	Deliver bool // there is something to announce notices by
	warned  bool // that there is not
	// gathered is the hour before which everything that was gathered is in a digest.
	gathered time.Time
	// kept is how long a notice waits that nothing announces, and forget ends one
	// that has waited for longer.
	Kept   time.Duration
	Forget func(ctx context.Context, id string) error
	Logger *slog.Logger
}

// noticeEvery is about how often digests and reports are looked at; where notices
// are looked after more often than usual, these are, too.
const noticeEvery = time.Minute

// perPass is how many notices are taken at a time.
const perPass = 100

// Start runs the jobs, the look at what is due every so often, until the function
// that it returns is called, which waits for them to end.
func (j *NoticeJobs) Start(ctx context.Context, lookEvery time.Duration) func() {
	const failed = "could not look after every notice: the next pass does"
	return jobs.Start(ctx, j.Logger,
		jobs.Job{Every: lookEvery, Run: j.relay, Failed: failed},
		jobs.Job{Every: min(noticeEvery, 2*lookEvery), Run: j.gather, Failed: failed},
		jobs.Job{Every: min(noticeEvery, 2*lookEvery), Run: j.report, Failed: failed})
}

// relay hands every notice that is due to the queue. A second task of a notice
// does no harm: the claim lets one deliver it.
func (j *NoticeJobs) relay(ctx context.Context) error {
	if !j.Deliver {
		return j.endForgotten(ctx)
	}
	for {
		now := j.Clock.Now()
		due, unread := j.Notices.Due(ctx, now, perPass)
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
		err := errors.Join(unread, failed, j.Notices.Confirm(ctx, queued...))
		if len(queued) > 0 {
			j.Logger.DebugContext(ctx, "put notices into the queue", "notices", len(queued))
		}
		if err != nil {
			return err
		}
	}
}

// endForgotten ends what has waited for so long that nobody wants to know any
// more, and says once that something waits.
func (j *NoticeJobs) endForgotten(ctx context.Context) error {
	now := j.Clock.Now()
	waiting, err := j.Notices.Due(ctx, now, 1)
	if len(waiting) == 0 {
		return err
	}
	if !j.warned {
		j.warned = true
		j.Logger.WarnContext(ctx, "notices wait for something to announce them by: set up a mail server, see smtp_url",
			"oldest", waiting[0].Since)
	}
	forgotten, err := j.Notices.Due(ctx, now.Add(-j.Kept), perPass)
	for _, notice := range forgotten {
		err = errors.Join(err, j.Forget(ctx, notice.ID))
	}
	return err
}

// gather makes the digests of the hours that are over, once in each hour.
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

// report puts the daily reports whose time has come.
func (j *NoticeJobs) report(ctx context.Context) error {
	if !j.Deliver {
		return nil
	}
	put, err := j.Reports.Put(ctx, j.Clock.Now())
	j.Queue.EnqueueNotices(ctx, put, j.Logger)
	return err
}
