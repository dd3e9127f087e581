package worldtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// backend opens the store for the nth process.
func (w *world) backend(client redis.UniversalClient, n int) *backend.Backend {
	b := taskstest.Open(w, client, backend.Options{
		Options: sendlimit.Options{Horizon: w.plan.Horizon, PlacesPerDay: w.plan.PlacesPerDay, ExpireAfter: w.story.ExpireAfter},
		Polling: polling(),
		Queues:  w.plan.Queues,
	})
	b.Policies.Clock.Local = Local(w.plan.ClockOf(n))
	return b
}

// Local is the clock of a process that is ahead by off, and knows no better.
func Local(off time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(off) }
}

func (w *world) newProcess(kind string) (*process, redis.UniversalClient, *backend.Backend) {
	n := int(w.made.Add(1))
	p := newProcess(fmt.Sprintf("%s-%d", kind, n), w.scheduler, w.end)
	p.slow = func() time.Duration { return time.Duration(w.slow.Load()) }
	client := w.servers.Client(p)
	return p, client, w.backend(client, n)
}

// worker is a worker that runs.
type worker struct {
	*process

	stop context.CancelFunc
}

// startWorker starts a worker, and another one when it is stopped for good.
func (w *world) startWorker() {
	p, client, b := w.newProcess("worker")
	o := tasks.WorkerOptions{
		PushTimeout: pushTimeout, SettleMargin: settleMargin, ShutdownTimeout: 2 * pushTimeout, RelayOptions: tasks.RelayOptions{RelayEvery: time.Minute},
		Retries: retry.Policy{Min: time.Second, Max: 10 * time.Second, Attempts: 1000}, OnUncertain: deliver.ResendUncertain,
		Announcer: &announcer{p, w.mail, w.fate},
	}
	if w.plan.Skip {
		o.OnUncertain = deliver.SkipUncertain
	}
	for _, name := range []string{notifier.ChannelWebhook, notifier.ChannelFCM, notifier.ChannelAPNs} {
		if name == notifier.ChannelWebhook || w.plan.HasDevices() {
			o.Channels = append(o.Channels, channels.Setup{
				Name: name, Notifier: &channel{name, p, w.provider, w.fate}, HasDevices: name != notifier.ChannelWebhook,
			})
		}
	}
	run, err := tasks.NewWorker(b, o)
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	started := &worker{process: p, stop: cancel}
	w.mu.Lock()
	w.workers = append(w.workers, started)
	w.mu.Unlock()
	w.running.Go(func() {
		ran := make(chan error, 1)
		go func() { ran <- run.Run(ctx) }()
		var err error
		select {
		case <-p.died:
			w.forget(started)
			w.story.halted(p.name)
			w.restart(ctx)
			<-w.end
			cancel()
			err = <-ran
		case err = <-ran:
			w.forget(started)
			if ctx.Err() == nil { // it found no store
				require.Error(w, err)
				w.restart(ctx)
			}
		}
		if err != nil {
			time.Sleep(2 * time.Minute) // goroutines may use the client still
		}
		_ = client.Close()
	})
}

// restart starts another worker in a moment, as a service manager does.
func (w *world) restart(ctx context.Context) {
	wait(ctx, time.Second)
	select {
	case <-w.end:
	default:
		if !w.downWorkers.Load() {
			w.startWorker()
		}
	}
}

func (w *world) forget(of *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.workers = slices.DeleteFunc(w.workers, func(o *worker) bool { return o == of })
}

// caller is a program that submits messages, and works for operators.
type caller struct {
	*process
	*submit.Submitter

	backend *backend.Backend
	client  redis.UniversalClient
	ahead   map[string]time.Duration // of the clocks of masters, by user
	busy    bool                     // with a request
	ready   chan struct{}            // closed when it knows who listens to events
}

func (w *world) newCaller() *caller {
	p, client, b := w.newProcess("caller")
	s, err := submit.New(b, submit.Options{Batch: w.random.upTo(2) == 0})
	require.NoError(w, err)
	c := &caller{process: p, Submitter: s, backend: b, client: client, ahead: w.story.Ahead, ready: make(chan struct{})}
	go func() {
		defer close(c.ready)
		for b.Listen.Load(context.Background()) != nil && !w.isOver() {
			time.Sleep(time.Second) // a program that can't know it ends, and is started again
		}
	}()
	return c
}

// idle returns a caller that lives and does nothing else, until it is released.
func (w *world) idle() *caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.callers {
		if !c.busy && !c.isStopped() {
			c.busy = true
			return c
		}
	}
	if w.ahead.Load() != 0 { // one that starts now takes the clock as it is
		return w.callers[0]
	}
	c := w.newCaller()
	c.busy = true
	w.callers = append(w.callers, c)
	return c
}

func (w *world) release(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.busy = false
}

// caller returns one that lives, and replaces those that were stopped. Others may use it, too.
func (w *world) caller() *caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.random.upTo(min(3, len(w.callers)))
	if w.callers[i].isStopped() {
		w.former = append(w.former, w.callers[i])
		w.callers[i] = w.newCaller()
	}
	return w.callers[i]
}
