package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/tasks/announce"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/relay"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// WorkerOptions configure a Worker. Only Notifier has no default.
type WorkerOptions struct {
	Prefix          string            // of keys and queue; "" means sendlimit.DefaultPrefix
	Policy          string            // as in SubmitterOptions
	Policies        *rules.Policies   // as in SubmitterOptions; a worker that runs keeps them up to date
	Notifier        notifier.Notifier // delivers
	Reach           time.Duration     // as in SubmitterOptions
	KeepRecords     time.Duration     // as in SubmitterOptions
	ExpireAfter     time.Duration     // zero means sendlimit.DefaultExpireAfter
	PushTimeout     time.Duration     // of one delivery; zero means 10 s
	Deliveries      int               // at a time; zero means 64
	Retries         retry.Policy
	ShutdownTimeout time.Duration // zero means 30 s; above PushTimeout
	// Tolerance is how late a message may go out without the rules being judged
	// anew; zero means sendlimit.DefaultTolerance.
	Tolerance time.Duration
	// OnUncertain is what becomes of a message of which nobody knows whether the
	// provider has it; "" means ResendUncertain.
	OnUncertain deliver.OnUncertain
	// DropDueBefore drops what was to be sent before it, as after a restore from
	// an old backup; zero drops nothing.
	DropDueBefore time.Time
	// LookAfter and OverdueAfter are as in sendlimit.Options.
	LookAfter, OverdueAfter time.Duration
	// SettleMargin is how much longer than PushTimeout a worker holds a message
	// before others take it over; zero means 10 s.
	SettleMargin time.Duration
	// RelayEvery is about how often the worker looks after messages that the
	// queue may not have; zero means 5 s.
	RelayEvery time.Duration
	// SweepEvery is the same of notices and charges, of which only a death or a
	// store that was away leaves any; zero means six times RelayEvery.
	SweepEvery time.Duration
	Metrics    *metrics.Metrics // nil means none
	Logger     *slog.Logger     // nil means none
	// Announcer takes alerts and reports to contacts, each try within
	// PushTimeout; nil means none: they wait until some worker has one.
	Announcer notifier.Announcer
}

// handlers is how many tasks are in hand at a time: most of them wait for
// the rest of their second and cost next to nothing.
const handlers = 512

// Worker delivers messages when they are due. Any number may run on one store.
type Worker struct {
	client   redis.UniversalClient
	prefix   string
	options  sendlimit.Options
	handler  *deliver.Handler
	shutdown time.Duration
	relay    time.Duration // between two looks at the watch list
	sweep    time.Duration // between two looks at notices and charges
	logger   *slog.Logger

	noticeJobs *announce.NoticeJobs
}

// NewWorker returns a worker on the store behind client. The error is a
// *sendlimit.InvalidError. Nothing runs before Run.
func NewWorker(client redis.UniversalClient, o WorkerOptions) (*Worker, error) {
	o.PushTimeout = cmp.Or(o.PushTimeout, 10*time.Second)
	o.Deliveries = cmp.Or(o.Deliveries, 64)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, 30*time.Second)
	o.SettleMargin = cmp.Or(o.SettleMargin, 10*time.Second)
	o.RelayEvery = cmp.Or(o.RelayEvery, 5*time.Second)
	o.SweepEvery = cmp.Or(o.SweepEvery, 6*o.RelayEvery)
	o.OnUncertain = cmp.Or(o.OnUncertain, deliver.ResendUncertain)
	o.Retries = o.Retries.WithDefaults()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	options := sendlimit.Options{
		Prefix: o.Prefix, Reach: o.Reach, KeepRecords: o.KeepRecords, ExpireAfter: o.ExpireAfter,
		Tolerance: o.Tolerance, Attempts: o.Retries.Attempts, SkipUncertain: o.OnUncertain == deliver.SkipUncertain,
		DropDueBefore: o.DropDueBefore, LookAfter: o.LookAfter, OverdueAfter: o.OverdueAfter,
	}
	policies, err := rules.Given(o.Policies, client, rules.PoliciesOptions{Prefix: o.Prefix, Policy: o.Policy, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	options.Rules = policies.Rules()
	gate, err := messages.NewGate(client, options)
	if err != nil {
		return nil, err
	}
	storeClock := storeclock.New()
	paces, err := deliver.NewPacer(client, o.Prefix, storeClock, o.Metrics, o.Logger)
	if err != nil {
		return nil, err
	}
	w := &Worker{
		client: client, prefix: o.Prefix, options: options, shutdown: o.ShutdownTimeout, relay: o.RelayEvery, sweep: o.SweepEvery, logger: o.Logger,
		handler: &deliver.Handler{
			Policies: policies, Gate: gate, Queue: queue.New(client, o.Prefix), Clock: storeClock, Notifier: o.Notifier, Pacer: paces,
			Retries: o.Retries, OnUncertain: o.OnUncertain, PushTimeout: o.PushTimeout, Margin: o.SettleMargin,
			Tolerance: cmp.Or(o.Tolerance, sendlimit.DefaultTolerance),
			Slots:     make(chan struct{}, o.Deliveries), Stopping: make(chan struct{}), Ended: make(chan struct{}),
			Metrics: o.Metrics, Logger: o.Logger,
		},
	}
	if err := w.announceBy(client, o); err != nil {
		return nil, err
	}
	return w, nil
}

func (o WorkerOptions) validate() error {
	switch {
	case o.Notifier == nil:
		return message.NotAllowed("push_url", "", "a push target")
	case o.PushTimeout < time.Millisecond:
		return message.NotAllowed("push_timeout", o.PushTimeout.String(), "at least 1 ms")
	case o.Deliveries < 1:
		return message.NotAllowed("deliveries", strconv.Itoa(o.Deliveries), "at least 1")
	case o.OnUncertain != deliver.ResendUncertain && o.OnUncertain != deliver.SkipUncertain:
		return message.NotAllowed("on_uncertain", string(o.OnUncertain), "%s or %s", deliver.ResendUncertain, deliver.SkipUncertain)
	case o.SettleMargin < time.Millisecond:
		return message.NotAllowed("settle_margin", o.SettleMargin.String(), "at least 1 ms")
	case o.RelayEvery < time.Millisecond:
		return message.NotAllowed("relay_every", o.RelayEvery.String(), "at least 1 ms")
	case o.SweepEvery < time.Millisecond:
		return message.NotAllowed("sweep_every", o.SweepEvery.String(), "at least 1 ms")
	case o.ShutdownTimeout <= o.PushTimeout:
		return message.NotAllowed("shutdown_timeout", o.ShutdownTimeout.String(),
			"more than push_timeout, %s: a delivery that is cut off is delivered again", o.PushTimeout)
	}
	return o.Retries.Validate()
}

// Run delivers until ctx ends. Then it takes no new work, sees through what it
// has begun, within the shutdown timeout, and returns nil; also where ctx ends
// before it has begun anything. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	watch, err := messages.NewWatchList(w.client, w.options)
	if err != nil {
		return err
	}
	charges, err := quota.New(w.client, quota.Options{Prefix: w.options.Prefix, LookAfter: w.options.LookAfter})
	if err != nil {
		return err
	}
	// The rules are there before the first task is, or the worker does not
	// start.
	if err := w.handler.Policies.Refresh(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	w.learnClock(ctx)
	stopPacer, err := w.handler.Pacer.Follow(ctx)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	w.handler.Confirmer = queue.NewConfirmer(watch, w.logger)
	server := asynq.NewServerFromRedisClient(w.client, w.config())
	if err := server.Start(w.handler); err != nil {
		w.handler.Confirmer.Close()
		stopPacer()
		return fmt.Errorf("starting the queue: %w", err)
	}
	stopRelay := (&relay.Relay{
		Watch: watch, Charges: charges, Queue: w.handler.Queue, Confirmer: w.handler.Confirmer, Clock: w.handler.Clock, Learn: w.learnClock,
		Metrics: w.handler.Metrics, Logger: w.logger,
	}).Start(context.WithoutCancel(ctx), w.relay, w.sweep)
	stopPolicies := w.handler.Policies.Follow(ctx)
	w.handler.Tally.Start(ctx)
	stopNotices := w.noticeJobs.Start(context.WithoutCancel(ctx), w.sweep)
	w.logger.InfoContext(ctx, "delivering", "queue", queue.Name(w.prefix))
	<-ctx.Done()
	w.logger.InfoContext(ctx, "stopping: finishing what runs", "within", w.shutdown)
	timeout, tooLong := time.NewTimer(w.shutdown), time.NewTimer(w.shutdown+stopMargin)
	defer timeout.Stop()
	defer tooLong.Stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		server.Stop()
		close(w.handler.Stopping)
		stopRelay()
		stopNotices()
		server.Shutdown()
		w.awaitHandlers(timeout.C)
		w.handler.Tally.Close()
		w.handler.Confirmer.Close()
		stopPolicies()
		stopPacer()
	}()
	select {
	case <-stopped:
		return nil
	case <-tooLong.C:
		return ErrUnfinished
	}
}

// unlessStopped is why a worker could not begin, or nil where it was to stop by
// then.
func unlessStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// ErrUnfinished is returned when a worker could not end within its shutdown
// timeout and a little more, since the store does not answer. Nothing is lost: a
// task that was not given back is found by the relay. What still uses the client
// ends with the process, so the client must not be closed.
var ErrUnfinished = errors.New("the worker could not end in time: the store does not answer")

// stopMargin is how much longer than its shutdown timeout a worker may take to
// give back what it has not finished.
const stopMargin = 2 * time.Second

// awaitHandlers waits for handlers whose tasks the queue no longer counts as
// running, since their lease ran out while the store was away.
func (w *Worker) awaitHandlers(timeout <-chan time.Time) {
	done := make(chan struct{})
	go func() {
		w.handler.Running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-timeout:
	}
	close(w.handler.Ended)
}

// learnClock learns the store's clock before there is work. It can do without:
// each claim tells it again.
func (w *Worker) learnClock(ctx context.Context) {
	clock := w.handler.Clock
	sent := clock.Local()
	now, err := w.client.Time(ctx).Result()
	if err != nil {
		w.logger.DebugContext(ctx, "the store does not tell its clock yet", "error", err)
		return
	}
	clock.Learn(sent, clock.Local(), now)
}

func (w *Worker) config() asynq.Config {
	return asynq.Config{
		Concurrency:              handlers,
		Queues:                   map[string]int{queue.Name(w.prefix): 1},
		DelayedTaskCheckInterval: queue.ForwardEvery,
		TaskCheckInterval:        queue.FetchEvery,
		ShutdownTimeout:          w.shutdown,
		// A task that comes again is no failure, and neither is a lease that
		// ran out: what a message's failures are is counted in its record.
		IsFailure:      func(error) bool { return false },
		RetryDelayFunc: queue.ComeAgain,
		ErrorHandler:   asynq.ErrorHandlerFunc(w.reportError),
		Logger:         queue.NewLogger(w.logger, w.handler.Clock.Local),
		LogLevel:       asynq.WarnLevel,
	}
}

func (w *Worker) reportError(ctx context.Context, _ *asynq.Task, err error) {
	if _, expected := errors.AsType[*queue.AgainError](err); expected {
		w.logger.DebugContext(ctx, "a task comes again", "reason", err)
		return
	}
	w.logger.WarnContext(ctx, "a task could not be handled: it comes again", "error", err)
}
