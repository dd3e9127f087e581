package tasks

import (
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/stats"
)

// announceBy gives a worker what it takes to announce notices, and to count for
// the daily reports.
func (w *Worker) announceBy(client redis.UniversalClient, o WorkerOptions) error {
	notices, err := notices.NewNotices(client, w.options)
	if err != nil {
		return err
	}
	whom, err := newContacts(client, o.Prefix)
	if err != nil {
		return err
	}
	stats, err := stats.NewStats(client, o.Prefix)
	if err != nil {
		return err
	}
	h := w.handler
	h.tally = newTally(stats, newPayers(whom.accounts, h.clock.local), w.logger)
	announced := &announcements{
		notices: notices, contacts: whom, announcer: o.Announcer, queue: h.queue, clock: h.clock,
		retries: o.Retries, kept: notices.Kept(), timeout: o.PushTimeout, margin: o.SettleMargin, slots: make(chan struct{}, announcing),
		stopping: h.stopping, ended: h.ended, metrics: o.Metrics, logger: w.logger,
	}
	h.announce = announced.process
	w.noticeJobs = &noticeJobs{
		notices: notices, queue: h.queue, clock: h.clock, deliver: o.Announcer != nil,
		kept: notices.Kept(), forget: announced.forget, logger: w.logger,
		reports: &reports{accounts: whom.accounts, stats: stats, notices: notices, done: make(map[string]int64)},
	}
	return nil
}
