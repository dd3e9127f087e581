package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// The settings that the product's worker gives asynq; the bare server has them too.
const (
	concurrency  = 512
	forwardEvery = 200 * time.Millisecond
	fetchEvery   = 100 * time.Millisecond
)

// measureDelivery compares the messages a second that a worker delivers, with claim,
// settle and a notifier that does nothing, with those of a bare asynq server whose
// handler does nothing. Everything is due before either starts. The rounds alternate,
// and each side has its own queue.
//
// A rate is from the first delivery to the last: how soon asynq begins to look for due
// tasks does not count.
func measureDelivery(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	// Late enough to submit them all first, with time to spare.
	const each = 500 * time.Microsecond
	due := time.Now().Add(3*time.Second + time.Duration(size.deliveries*size.deliveryRounds)*each)
	for round := range size.deliveryRounds {
		if err := s.fillDeliveries(ctx, round, size.deliveries, due); err != nil {
			return nil, err
		}
	}
	if time.Now().After(due) {
		return nil, errors.New("the messages were due before all were submitted: the machine is too slow for these sizes")
	}
	pause(ctx, time.Until(due)+time.Second)

	var ours, bare []float64
	for round := range size.deliveryRounds {
		rate, err := s.deliver(ctx, round, size.deliveries)
		if err != nil {
			return nil, err
		}
		ours = append(ours, rate)
		if rate, err = s.process(ctx, round, size.deliveries); err != nil {
			return nil, err
		}
		bare = append(bare, rate)
	}
	return []row{
		atLeast("delivery", "deliveries a second of messages that were submitted too late for the schedule, with a task each / a bare asynq server",
			median(ours)/median(bare), 0.5,
			fmt.Sprintf("worker %.0f/s", median(ours)), fmt.Sprintf("bare server %.0f/s", median(bare)),
			fmt.Sprintf("%d rounds of %d messages each, a user each", size.deliveryRounds, size.deliveries)),
	}, nil
}

func deliveryPrefix(round int) string { return fmt.Sprintf("round%d", round) }

func bareQueue(round int) string { return fmt.Sprintf("bare%d", round) }

// fillDeliveries gives both sides of a round their messages, all due at the same time.
func (s *store) fillDeliveries(ctx context.Context, round, n int, due time.Time) error {
	if err := s.seedPolicy(ctx, deliveryPrefix(round)); err != nil {
		return err
	}
	submitter, err := s.openSubmitter(deliveryPrefix(round), submit.Options{})
	if err != nil {
		return fmt.Errorf("submitter: %w", err)
	}
	return s.fillBoth(ctx, submitter, round, n, due)
}

// fillBoth submits n messages and enqueues as many bare tasks, all due at the same time. It
// closes the submitter.
func (s *store) fillBoth(ctx context.Context, submitter *submit.Submitter, round, n int, due time.Time) error {
	queue := asynq.NewClientFromRedisClient(s.client)
	_, err := drive(ctx, n, func(ctx context.Context, i int) error {
		if err := submitted(ctx, submitter, message.Message{User: userName(i), SendAt: due, Title: title, Body: body}); err != nil {
			return err
		}
		return enqueueBare(ctx, queue, bareQueue(round), sendlimit.Request{User: userName(i), At: due})
	})
	return errors.Join(err, submitter.Close())
}

// deliver runs a worker until it has delivered a round, and returns its rate.
func (s *store) deliver(ctx context.Context, round, n int) (float64, error) {
	count := newTally(n)
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: deliveryPrefix(round)}})
	if err != nil {
		return 0, fmt.Errorf("backend: %w", err)
	}
	stop, err := startWorker(ctx, opened, tasks.WorkerOptions{
		Notifier: silent{count},
		// Later rounds begin seconds after their messages' time, but must deliver them
		// as on time. Late messages have their own row.
		Tolerance: time.Hour,
	})
	if err != nil {
		return 0, err
	}
	rate, err := count.rate(ctx)
	return rate, errors.Join(err, stop())
}

// startWorker starts a worker. The function that it returns stops the worker, and returns how
// that ended.
func startWorker(ctx context.Context, opened *backend.Backend, o tasks.WorkerOptions) (func() error, error) {
	worker, err := tasks.NewWorker(opened, o)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(running) }()
	return func() error {
		stop()
		return <-ended
	}, nil
}

// process runs a bare asynq server until it has handled a round, and returns its rate.
func (s *store) process(ctx context.Context, round, n int) (float64, error) {
	count := newTally(n)
	server, err := s.serveBare(round, count)
	if err != nil {
		return 0, err
	}
	rate, err := count.rate(ctx)
	server.Shutdown()
	return rate, err
}

// serveBare starts a bare asynq server for the tasks of a round.
func (s *store) serveBare(round int, count *tally) (*asynq.Server, error) {
	server := asynq.NewServerFromRedisClient(s.client, asynq.Config{
		Concurrency: concurrency, Queues: map[string]int{bareQueue(round): 1},
		DelayedTaskCheckInterval: forwardEvery, TaskCheckInterval: fetchEvery,
		LogLevel: asynq.ErrorLevel,
	})
	err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		count.add()
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("start a bare server: %w", err)
	}
	return server, nil
}

// silent is a notifier that delivers nothing. It counts the calls.
type silent struct{ count *tally }

// Notify implements notifier.Notifier.
func (s silent) Notify(context.Context, notifier.Notification) notifier.Result {
	s.count.add()
	return notifier.Result{Status: notifier.Delivered}
}

// tally counts to a number, and measures the time from the first to the last.
type tally struct {
	want        int64
	count       atomic.Int64
	first, last time.Time
	all         chan struct{}
}

func newTally(want int) *tally { return &tally{want: int64(want), all: make(chan struct{})} }

func (t *tally) add() {
	switch t.count.Add(1) {
	case 1:
		t.first = time.Now()
	case t.want:
		t.last = time.Now()
		close(t.all)
	}
}

// rate waits for the last one, and returns the number a second.
func (t *tally) rate(ctx context.Context) (float64, error) {
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-t.all:
		return float64(t.want-1) / t.last.Sub(t.first).Seconds(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("only %d of %d arrived: %w", t.count.Load(), t.want, ctx.Err())
	}
}
