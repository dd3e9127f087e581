package tasks

import (
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/stats"
	"github.com/sendlimit/sendlimiter/tasks/announce"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
	"github.com/sendlimit/sendlimiter/tasks/report"
)

// announceBy gives a worker what it takes to announce notices, and to count for
// the daily reports.
func (w *Worker) announceBy(client redis.UniversalClient, o WorkerOptions) error {
	notices, err := notices.New(client, notices.Options{
		Prefix: w.options.Prefix, Keep: w.options.KeepRecords, Attempts: w.options.Attempts, OverdueAfter: w.options.OverdueAfter,
	})
	if err != nil {
		return err
	}
	whom, err := announce.NewContacts(client, o.Prefix)
	if err != nil {
		return err
	}
	stats, err := stats.New(client, o.Prefix)
	if err != nil {
		return err
	}
	h := w.handler
	h.Tally = report.NewTally(stats, payers.New(whom.Accounts, h.Clock.Local), w.logger)
	announced := &announce.Announcements{
		Notices: notices, Contacts: whom, Announcer: o.Announcer, Queue: h.Queue, Clock: h.Clock,
		Retries: o.Retries, Kept: notices.Kept(), Timeout: o.PushTimeout, Margin: o.SettleMargin, Slots: make(chan struct{}, announce.Announcing),
		Stopping: h.Stopping, Ended: h.Ended, Metrics: o.Metrics, Logger: w.logger,
	}
	h.Announce = announced.Process
	w.noticeJobs = &announce.NoticeJobs{
		Notices: notices, Queue: h.Queue, Clock: h.Clock, Deliver: o.Announcer != nil,
		Kept: notices.Kept(), Forget: announced.Forget, Logger: w.logger,
		Reports: &report.Reports{Accounts: whom.Accounts, Stats: stats, Notices: notices, Done: make(map[string]int64)},
	}
	return nil
}
