package tasks

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/tasks/announce"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/internal/gather"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// WorkerOptions configure a Worker. Only the channels have no default.
type WorkerOptions struct {
	RelayOptions

	// Channels are the channels of the worker, each with its own name. All workers
	// of a store must have the same ones.
	Channels []channels.Setup
	// Notifier is short for Channels with one target, with the name of the webhook.
	Notifier        notifier.Notifier
	PushTimeout     time.Duration // for one delivery; zero means 10 s
	Deliveries      int           // messages at a time; zero means 64
	Retries         retry.Policy
	ShutdownTimeout time.Duration // zero means 30 s; above PushTimeout
	// Tolerance is how late a message may be sent without being judged again; zero
	// means sendlimit.DefaultTolerance.
	Tolerance time.Duration
	// OnUncertain decides about a message that may or may not have arrived; "" means
	// deliver.ResendUncertain.
	OnUncertain deliver.OnUncertain
	// DropDueBefore drops messages with an earlier send time, for instance after a
	// restore from an old backup; zero drops nothing.
	DropDueBefore time.Time
	// SettleMargin is how much longer than PushTimeout the lease of a message lasts,
	// after which other workers take it over; zero means 10 s.
	SettleMargin time.Duration
	// WithoutRelay leaves the relay to other workers, or to a Relay. While none of them runs, only
	// messages that are due within the horizon when they are submitted are delivered.
	WithoutRelay bool
	// Announcer sends alerts and reports to contacts. If nil, they wait for a
	// worker that has one. Once the worker stops, a try is cut off after PushTimeout.
	Announcer    notifier.Announcer
	AlertRetries retry.Span
	Callbacks    callbacks.Poster // posts events to the callbacks of accounts; nil posts none
	EventsGiveUp time.Duration    // how long an event is tried; zero means 1 day
	EventsRate   int              // requests a second to the callback of an account; zero means 10
	// AnnounceTimeout bounds one try to send a notice. An Announcer has shorter
	// timeouts of its own. Zero means 1 hour.
	AnnounceTimeout time.Duration
}

// Worker delivers messages when they are due. Any number may run on one store.
type Worker struct {
	backend       *backend.Backend
	batches       *gather.Client // of claims and settlements
	queue         *queue.Queue   // by the store's clock
	timers        *queue.Timers
	handler       *deliver.Handler
	announcements *announce.Announcements
	relay         *relaying // nil for none
	noticeJobs    *announce.NoticeJobs
	callbacks     *callbacks.Sender // nil for none
	shutdown      time.Duration
	sweepEvery    time.Duration // between two looks at notices
	stopping      chan struct{} // closed when no new work may begin
	ended         chan struct{} // closed when Run no longer waits for work
}

// NewWorker returns a worker on a backend. Nothing runs before Run. The error is a
// *fault.InvalidError.
func NewWorker(b *backend.Backend, o WorkerOptions) (*Worker, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	w := &Worker{
		backend: b, shutdown: o.ShutdownTimeout, sweepEvery: o.SweepEvery,
		stopping: make(chan struct{}), ended: make(chan struct{}),
	}
	if err := w.addDeliveries(o); err != nil {
		return nil, err
	}
	if err := w.addAnnouncements(o); err != nil {
		return nil, err
	}
	if err := w.addCallbacks(o); err != nil {
		return nil, err
	}
	return w, nil
}

func (o WorkerOptions) withDefaults() WorkerOptions {
	if o.Notifier != nil && len(o.Channels) == 0 {
		o.Channels = []channels.Setup{{Name: notifier.ChannelWebhook, Notifier: o.Notifier}}
	}
	o.PushTimeout = cmp.Or(o.PushTimeout, 10*time.Second)
	o.Deliveries = cmp.Or(o.Deliveries, 64)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, 30*time.Second)
	o.SettleMargin = cmp.Or(o.SettleMargin, 10*time.Second)
	o.AnnounceTimeout = cmp.Or(o.AnnounceTimeout, time.Hour)
	o.RelayOptions = o.RelayOptions.withDefaults()
	o.EventsGiveUp = cmp.Or(o.EventsGiveUp, 24*time.Hour)
	o.EventsRate = cmp.Or(o.EventsRate, 10)
	o.OnUncertain = cmp.Or(o.OnUncertain, deliver.ResendUncertain)
	o.Retries = o.Retries.WithDefaults()
	o.AlertRetries = o.AlertRetries.WithDefaults()
	return o
}

// settleWithin returns how long a delivery may settle after its lease.
func (o WorkerOptions) settleWithin() time.Duration {
	return min(deliver.SettleWithin, o.SettleMargin/2)
}

func (o WorkerOptions) validate() error {
	switch {
	case len(o.Channels) == 0:
		return message.NotAllowed("push_url", "", "a push target")
	case o.PushTimeout < time.Millisecond:
		return message.NotAllowed("push_timeout", o.PushTimeout.String(), "at least 1 ms")
	case o.Deliveries < 1:
		return message.NotAllowed("deliveries", strconv.Itoa(o.Deliveries), "at least 1")
	case o.OnUncertain != deliver.ResendUncertain && o.OnUncertain != deliver.SkipUncertain:
		return message.NotAllowed("on_uncertain", string(o.OnUncertain), "%s or %s", deliver.ResendUncertain, deliver.SkipUncertain)
	case o.SettleMargin < time.Millisecond:
		return message.NotAllowed("settle_margin", o.SettleMargin.String(), "at least 1 ms")
	case o.AnnounceTimeout < time.Millisecond:
		return message.NotAllowed("announce_timeout", o.AnnounceTimeout.String(), "at least 1 ms")
	case o.EventsGiveUp < time.Millisecond:
		return message.NotAllowed("events_give_up", o.EventsGiveUp.String(), "at least 1 ms")
	case o.EventsRate < 1:
		return message.NotAllowed("events_rate", strconv.Itoa(o.EventsRate), "at least 1")
	case o.ShutdownTimeout <= o.PushTimeout:
		return message.NotAllowed("shutdown_timeout", o.ShutdownTimeout.String(),
			"more than push_timeout, %s: a delivery that is cut off is delivered again", o.PushTimeout)
	}
	if err := o.RelayOptions.validate(); err != nil {
		return err
	}
	if err := channels.Validate(o.Channels); err != nil {
		return err
	}
	if err := o.AlertRetries.Validate(); err != nil {
		return err
	}
	return o.Retries.Validate()
}

// Run delivers until ctx ends. Then it takes no new work, finishes the deliveries that
// run, within the shutdown timeout, and returns nil. It also returns nil if ctx ends
// before any work. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	// Without rules the worker does not start.
	if err := w.handler.Policies.Refresh(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	if err := w.backend.Listen.Load(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	learnClock(ctx, w.backend)
	stopPacer, err := w.handler.Follow(ctx)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	stopPauses, err := w.handler.Pauses.Follow(ctx, w.backend.Looks)
	if err != nil {
		stopPacer()
		return unlessStopped(ctx, err)
	}
	w.timers.Start()
	server, err := w.queue.Serve(ctx, queue.ServerOptions{
		Deliver: w.handler.Handle, Announce: w.announcements.Handle,
		ShutdownTimeout: w.shutdown, Logger: w.backend.Logger,
	})
	if err != nil {
		w.timers.Close()
		stopPauses()
		stopPacer()
		return unlessStopped(ctx, err)
	}
	stopRelay, stopGathering := w.relay.start(ctx)
	stopFollowing := w.backend.Follow(ctx)
	stopNotices := w.noticeJobs.Start(ctx, w.sweepEvery)
	waitForCallbacks := func() {}
	if w.callbacks != nil {
		waitForCallbacks = w.callbacks.Start(ctx, w.stopping, w.ended)
	}
	w.backend.Logger.InfoContext(ctx, "delivering", "queue", queue.Name(w.backend.Timeline.Prefix))
	<-ctx.Done()
	w.backend.Logger.InfoContext(ctx, "stopping: finishing what runs", "within", w.shutdown)
	timeout, tooLong := time.NewTimer(w.shutdown), time.NewTimer(w.shutdown+stopMargin)
	defer timeout.Stop()
	defer tooLong.Stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		server.Stop()
		close(w.stopping)
		stopRelay()
		stopNotices()
		server.Finish(timeout.C)
		close(w.ended)
		waitForCallbacks()
		w.timers.Close()
		stopGathering()
		stopFollowing()
		stopPauses()
		stopPacer()
		w.batches.Wait()
	}()
	select {
	case <-stopped:
		return nil
	case <-tooLong.C:
		return ErrUnfinished
	}
}

// unlessStopped returns err, or nil if ctx has ended.
func unlessStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// ErrUnfinished says that a worker could not end in time, because the store does not answer. Nothing
// is lost: the relay finds its tasks. Do not close the client: goroutines use it until the process
// ends.
var ErrUnfinished = errors.New("the worker could not end in time: the store does not answer")

// stopMargin is how much longer than its shutdown timeout a worker may take to give back
// unfinished tasks.
const stopMargin = 2 * time.Second

// learnClock learns the store's clock before there is work. A failure is harmless: each
// claim returns the store's time.
func learnClock(ctx context.Context, b *backend.Backend) {
	if _, err := b.Policies.Clock.Ask(ctx); err != nil {
		b.Logger.DebugContext(ctx, "the store does not tell its clock yet", "error", err)
	}
}
