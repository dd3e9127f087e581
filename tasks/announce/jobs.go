package announce

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
)

// NoticeJobs are the jobs for notices that every worker repeats: enqueue the notices that
// the queue may not have, make the hourly digests, and put the daily reports. Any number
// of workers may run them at once.
type NoticeJobs struct {
	*Announcements

	Reports    *Reports
	Turns      *turn.Turns
	warned     bool      // a missing announcer was logged
	unreadable int       // notices, at the last pass
	gathered   time.Time // the hour before which all gathered alerts are in a digest
	lookEvery  time.Duration
}

// noticeEvery is about how often to look for digests and reports, at most twice the lookEvery of
// Start.
const noticeEvery = time.Minute

// perPartition is how many due notices of a partition are read at a time.
const perPartition = 100

// Start runs the jobs, and looks for due notices every lookEvery, until the returned
// function is called. That function waits for the jobs to end.
func (j *NoticeJobs) Start(ctx context.Context, lookEvery time.Duration) func() {
	const failed = "could not look after every alert: the next pass does"
	j.lookEvery = lookEvery
	return job.Start(ctx, j.Logger,
		job.Periodic{Every: lookEvery, Run: j.Clock.UnlessStepped(j.relay), Failed: failed},
		job.Periodic{Every: min(noticeEvery, 2*lookEvery), Run: j.Clock.UnlessStepped(j.gather), Failed: failed},
		job.Periodic{Every: min(noticeEvery, 2*lookEvery), Run: j.Clock.UnlessStepped(j.report), Failed: failed})
}

// relay enqueues every due notice, if another worker did not lately. A second task of a notice does no
// harm: only one can claim it. Workers without an announcer take turns of their own.
func (j *NoticeJobs) relay(ctx context.Context) error {
	work := keyspace.WorkAlerts
	if j.Announcer == nil {
		work = keyspace.WorkUnsent
	}
	if j.Turns.Taken(ctx, work, j.lookEvery) {
		return nil
	}
	if j.Announcer == nil {
		return j.endForgotten(ctx)
	}
	for {
		now := j.Clock.Now()
		due, unreadable, unread := j.Notices.Due(ctx, now, perPartition)
		if unreadable > j.unreadable {
			j.Logger.WarnContext(ctx, "the outbox has alerts that this program can't read: it skips them,"+
				" and the newer worker that wrote them handles them", "alerts", unreadable)
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
			j.Logger.DebugContext(ctx, "put alerts into the queue", "alerts", len(queued))
		}
		if err != nil {
			return errors.Join(unread, err)
		}
	}
}

// endForgotten ends the notices that have waited longer than Kept for an announcer. It logs once
// that notices wait.
func (j *NoticeJobs) endForgotten(ctx context.Context) error {
	now := j.Clock.Now()
	waiting, _, err := j.Notices.Due(ctx, now, 1)
	if len(waiting) == 0 {
		return err
	}
	if !j.warned {
		j.warned = true
		j.Logger.WarnContext(ctx, "alerts wait, and nothing can deliver them: set up a mail server, see email_url",
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
	if j.Announcer != nil {
		j.Queue.EnqueueNotices(ctx, put, j.Logger)
	}
	return err
}

// report puts the due daily reports.
func (j *NoticeJobs) report(ctx context.Context) error {
	if j.Announcer == nil {
		return nil
	}
	put, err := j.Reports.Put(ctx, j.Clock.Now())
	j.Queue.EnqueueNotices(ctx, put, j.Logger)
	return err
}
