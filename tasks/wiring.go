package tasks

import (
	"cmp"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/stats"
	"github.com/sendlimit/sendlimiter/tasks/announce"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/relay"
	"github.com/sendlimit/sendlimiter/tasks/report"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// addDeliveries gives a worker what delivers messages, and the relay that looks
// after those that the queue does not have.
func (w *Worker) addDeliveries(options sendlimit.Options, o WorkerOptions) error {
	policies, err := rules.Given(o.Policies, w.client, rules.PoliciesOptions{Prefix: o.Prefix, Policy: o.Policy, Logger: o.Logger})
	if err != nil {
		return err
	}
	options.Rules = policies.Rules()
	gate, err := messages.NewGate(w.client, options)
	if err != nil {
		return err
	}
	clock := storeclock.New()
	pacer, err := deliver.NewPacer(w.client, o.Prefix, clock, o.Metrics, o.Logger)
	if err != nil {
		return err
	}
	watch, err := messages.NewWatchList(w.client, options)
	if err != nil {
		return err
	}
	charges, err := quota.New(w.client, quota.Options{Prefix: o.Prefix, LookAfter: o.LookAfter})
	if err != nil {
		return err
	}
	w.timers = w.queue.Timers(watch, o.Logger)
	w.handler = &deliver.Handler{
		Policies: policies, Gate: gate, Queue: w.queue, Timers: w.timers, Clock: clock, Notifier: o.Notifier, Pacer: pacer,
		Retries: o.Retries, OnUncertain: o.OnUncertain, PushTimeout: o.PushTimeout, Margin: o.SettleMargin,
		Tolerance: cmp.Or(o.Tolerance, sendlimit.DefaultTolerance),
		Slots:     make(chan struct{}, o.Deliveries), Stopping: w.stopping, Ended: w.ended,
		Metrics: o.Metrics, Logger: o.Logger,
	}
	w.relay = &relay.Relay{
		Watch: watch, Charges: charges, Queue: w.queue, Timers: w.timers, Clock: clock, Learn: w.learnClock,
		Metrics: o.Metrics, Logger: o.Logger,
	}
	return nil
}

// addAnnouncements gives a worker what announces notices, and what counts for the
// daily reports.
func (w *Worker) addAnnouncements(o WorkerOptions) error {
	notices, err := notices.New(w.client, notices.Options{
		Prefix: o.Prefix, Keep: o.KeepRecords, Attempts: o.Retries.Attempts, OverdueAfter: o.OverdueAfter,
	})
	if err != nil {
		return err
	}
	contacts, err := announce.NewContacts(w.client, o.Prefix)
	if err != nil {
		return err
	}
	stats, err := stats.New(w.client, o.Prefix)
	if err != nil {
		return err
	}
	clock := w.handler.Clock
	w.handler.Tally = report.NewTally(stats, payers.New(contacts.Accounts, clock.Local), o.Logger)
	w.announcements = &announce.Announcements{
		Notices: notices, Contacts: contacts, Announcer: o.Announcer, Queue: w.queue, Clock: clock,
		Retries: o.Retries, Kept: notices.Kept(), Timeout: o.PushTimeout, Margin: o.SettleMargin,
		Slots: make(chan struct{}, announce.Together), Stopping: w.stopping, Ended: w.ended,
		Metrics: o.Metrics, Logger: o.Logger,
	}
	w.noticeJobs = &announce.NoticeJobs{
		Notices: notices, Queue: w.queue, Clock: clock, Deliver: o.Announcer != nil,
		Kept: notices.Kept(), Forget: w.announcements.Forget, Logger: o.Logger,
		Reports: &report.Reports{Accounts: contacts.Accounts, Stats: stats, Notices: notices, Done: make(map[string]int64)},
	}
	return nil
}
