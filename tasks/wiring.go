package tasks

import (
	"cmp"
	"context"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/announce"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/internal/gather"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// addDeliveries adds the handler of messages, and the relay if the worker has one.
func (w *Worker) addDeliveries(o WorkerOptions) error {
	b, options := w.backend, w.backend.Timeline
	options.Tolerance, options.DropDueBefore = o.Tolerance, o.DropDueBefore
	options.Attempts, options.SkipUncertain = o.Retries.Attempts, o.OnUncertain == deliver.SkipUncertain
	options.SettleWithin = o.settleWithin()
	for _, c := range o.Channels {
		options.Devices = options.Devices || c.HasDevices
	}
	w.batches = gather.NewClient(b.Client)
	gate, err := messages.NewGate(w.batches, options)
	if err != nil {
		return err
	}
	clock := b.Policies.Clock // asked every second
	pacer, err := deliver.NewPacer(b.Client, deliver.PacerOptions{Prefix: b.Timeline.Prefix, Target: deliver.PaceTarget}, clock, b.Metrics, b.Logger)
	if err != nil {
		return err
	}
	set, err := channels.NewSet(b.Client, b.Keys, o.Channels, o.PushTimeout, clock, b.Metrics, b.Logger)
	if err != nil {
		return err
	}
	paced, err := deliver.NewChannels(set.All(), o.Deliveries, clock.Local, func(c *channels.Channel) (*deliver.Pacer, error) {
		return deliver.NewPacer(b.Client, deliver.PacerOptions{
			Prefix: b.Timeline.Prefix, Target: deliver.ChannelPace(c.Name), Ramp: c.Ramp,
		}, clock, b.Metrics, b.Logger)
	})
	if err != nil {
		return err
	}
	w.queue = b.Queue.ByClock(clock.Clock)
	w.timers = w.queue.Timers(b.Watch, b.Logger)
	w.handler = &deliver.Handler{
		Policies: b.Policies, Looks: b.Looks, Gate: gate, Records: messages.NewRecords(w.batches, b.Keys), Queue: w.queue, Timers: w.timers, Clock: clock, Channels: set, PacedChannels: paced, Pacer: pacer,
		Devices: devices.New(b.Client, b.Keys, devices.Options{}), Pauses: deliver.NewPauses(b.Client, b.Keys, clock, b.Logger),
		FollowZone: func(ctx context.Context, user, id string) error { return submit.FollowZone(ctx, b, user, id) },
		Retries:    o.Retries, OnUncertain: o.OnUncertain, PushTimeout: o.PushTimeout, Margin: o.SettleMargin,
		Tolerance: cmp.Or(o.Tolerance, sendlimit.DefaultTolerance), ExpireAfter: cmp.Or(options.ExpireAfter, sendlimit.DefaultExpireAfter),
		Slots: deliver.NewDeliverySlots(o.Deliveries, clock.Local), Stopping: w.stopping, Ended: w.ended,
		Activity: b.Activity, Metrics: b.Metrics, Tracer: b.Tracer, Logger: b.Logger,
	}
	if o.WithoutRelay {
		return nil
	}
	w.relay, err = newRelaying(b, w.queue, w.timers, o.RelayOptions)
	return err
}

// addAnnouncements adds the announcer of notices, and their jobs.
func (w *Worker) addAnnouncements(o WorkerOptions) error {
	b, clock := w.backend, w.handler.Clock
	notices, err := notices.New(b.Client, notices.Options{
		Prefix: b.Timeline.Prefix, Keep: b.Timeline.KeepRecords, OverdueAfter: b.Timeline.OverdueAfter,
		SettleWithin: o.settleWithin(), Ahead: b.Timeline.Ahead,
	})
	if err != nil {
		return err
	}
	contacts := announce.NewContacts(b.Client, b.Keys)
	w.announcements = &announce.Announcements{
		Notices: notices, Contacts: contacts, Announcer: o.Announcer, Queue: w.queue, Clock: clock,
		Retries: o.AlertRetries, Kept: notices.Kept(), Timeout: o.AnnounceTimeout,
		Lease: o.PushTimeout + o.SettleMargin, Grace: o.PushTimeout,
		Slots: make(chan struct{}, announce.Together), Stopping: w.stopping, Ended: w.ended,
		Metrics: b.Metrics, Logger: b.Logger,
	}
	w.noticeJobs = &announce.NoticeJobs{
		Announcements: w.announcements, Turns: turn.New(b.Client, b.Keys),
		Reports: &announce.Reports{Accounts: contacts.Accounts, Activity: b.Activity, Notices: notices, Done: make(map[string]int64)},
	}
	return nil
}

// addCallbacks adds what posts events to the callbacks of accounts.
func (w *Worker) addCallbacks(o WorkerOptions) error {
	if o.Callbacks == nil {
		return nil
	}
	b := w.backend
	options := b.Events
	log, err := events.NewLog(b.Client, options)
	if err != nil {
		return err
	}
	state, err := events.NewCallbacks(b.Client, options)
	if err != nil {
		return err
	}
	w.callbacks = &callbacks.Sender{
		Accounts: accounts.New(b.Client, b.Keys), Listeners: events.NewListeners(b.Client, b.Keys), Log: log, Callbacks: state, Poster: o.Callbacks, Clock: w.handler.Clock,
		GiveUp: o.EventsGiveUp, Rate: o.EventsRate, Retries: callbacks.DefaultRetries(),
		Timeout: o.PushTimeout, Margin: o.SettleMargin, Metrics: b.Metrics, Logger: b.Logger,
	}
	return nil
}
