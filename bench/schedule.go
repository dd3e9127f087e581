package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// measureSchedule compares the deliveries a second of a worker, from its schedule to the
// settled message, with those of a bare asynq server, from ProcessAt to done. Everything is
// due before either starts, and the rate is from the start to the end. The worker hands all
// messages over to the queue within that time.
func measureSchedule(ctx context.Context, size sizes) ([]row, error) {
	near, err := runSchedule(ctx, size.deliveries, size.deliveryRounds, 0)
	if err != nil {
		return nil, err
	}
	const added = time.Millisecond
	distant, err := runSchedule(ctx, size.distant, 1, added)
	if err != nil {
		return nil, err
	}
	return []row{
		atLeast("schedule", "deliveries a second, from the schedule to the settled message / a bare asynq server, from ProcessAt to done",
			near.ratio(), 0.8, near.figures()...),
		atLeast("schedule-distant", fmt.Sprintf("the same with %s added to each round trip", added),
			distant.ratio(), 2, distant.figures()...),
	}, nil
}

// rates are the deliveries a second of both sides, round by round.
type rates struct {
	messages   int
	ours, bare []float64
	spent      []float64 // µs of Redis time for one message of ours
	scripts    []float64 // calls for one
}

func (r rates) ratio() float64 { return median(r.ours) / median(r.bare) }

func (r rates) figures() []string {
	return []string{
		fmt.Sprintf("worker %.0f/s", median(r.ours)), fmt.Sprintf("bare server %.0f/s", median(r.bare)),
		fmt.Sprintf("%d rounds of %d messages each, a user each", len(r.ours), r.messages),
		fmt.Sprintf("the worker's scripts take %.0f µs of Redis time a message, in %.2f calls",
			median(r.spent), median(r.scripts)),
	}
}

// runSchedule measures rounds of both sides, with a time added to each round trip.
func runSchedule(ctx context.Context, n, rounds int, added time.Duration) (r rates, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	const each = 250 * time.Microsecond
	due := time.Now().Add(shortHorizon + 2*time.Second + time.Duration(n*rounds)*each)
	for round := range rounds {
		if err := s.fillSchedule(ctx, round, n, due, shortHorizon); err != nil {
			return r, err
		}
	}
	if time.Now().After(due.Add(-shortHorizon)) {
		return r, errors.New("the messages were due before all were submitted: the machine is too slow for these sizes")
	}
	pause(ctx, time.Until(due)+time.Second)

	if added > 0 {
		near := s.client
		defer func() { err = errors.Join(err, near.Close()) }()
		s.client = connectOver(s.server, callers, added)
	}
	r.messages = n
	for round := range rounds {
		if err := s.resetCommandTime(ctx); err != nil {
			return r, err
		}
		took, err := s.drainSchedule(ctx, round, n, time.Now())
		if err != nil {
			return r, err
		}
		r.ours = append(r.ours, float64(n)/took.Seconds())
		spent, runs, err := s.scriptTime(ctx)
		if err != nil {
			return r, err
		}
		r.spent = append(r.spent, float64(spent.Microseconds())/float64(n))
		r.scripts = append(r.scripts, float64(runs)/float64(n))
		if took, err = s.drainBare(ctx, round, n, time.Now()); err != nil {
			return r, err
		}
		r.bare = append(r.bare, float64(n)/took.Seconds())
	}
	return r, nil
}

// shortHorizon is so short that the queue has nothing before the worker starts.
const shortHorizon = time.Second

// fillSchedule gives both sides of a round their messages, all due at the same time.
func (s *store) fillSchedule(ctx context.Context, round, n int, due time.Time, horizon time.Duration) error {
	if err := s.seedPolicy(ctx, deliveryPrefix(round)); err != nil {
		return err
	}
	// A message that is due sooner than LookAfter would count as one that the queue has.
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: deliveryPrefix(round), Horizon: horizon, LookAfter: time.Second}})
	if err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	submitter, err := submit.New(opened, submit.Options{Batch: true})
	if err != nil {
		return fmt.Errorf("submitter: %w", err)
	}
	return s.fillBoth(ctx, submitter, round, n, due)
}

// drainSchedule runs a worker until it has settled a round, and returns how long that took
// since a time.
func (s *store) drainSchedule(ctx context.Context, round, n int, since time.Time) (time.Duration, error) {
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: deliveryPrefix(round), Horizon: shortHorizon}})
	if err != nil {
		return 0, fmt.Errorf("backend: %w", err)
	}
	return s.work(ctx, opened, n, since)
}

// work runs a worker until it has settled n messages, and returns how long that took since a
// time.
func (s *store) work(ctx context.Context, opened *backend.Backend, n int, since time.Time) (time.Duration, error) {
	count := newTally(n)
	stop, err := startWorker(ctx, opened, tasks.WorkerOptions{
		Notifier: silent{count}, Tolerance: time.Hour, RelayOptions: tasks.RelayOptions{RelayEvery: time.Second},
	})
	if err != nil {
		return 0, err
	}
	_, err = count.rate(ctx)
	if err == nil {
		err = untilNone(ctx, opened.Watch.Pending)
	}
	took := time.Since(since)
	return took, errors.Join(err, stop())
}

// drainBare runs a bare asynq server until all tasks of a round are done, and returns how
// long that took since a time.
func (s *store) drainBare(ctx context.Context, round, n int, since time.Time) (time.Duration, error) {
	count := newTally(n)
	server, err := s.serveBare(round, count)
	if err != nil {
		return 0, err
	}
	_, err = count.rate(ctx)
	if err == nil {
		err = untilNone(ctx, func(ctx context.Context) (int, error) {
			left, err := s.client.LLen(ctx, "asynq:{"+bareQueue(round)+"}:active").Result()
			return int(left), err
		})
	}
	took := time.Since(since)
	server.Shutdown()
	return took, err
}

// untilNone returns when nothing is left.
func untilNone(ctx context.Context, left func(context.Context) (int, error)) error {
	for {
		n, err := left(ctx)
		if err != nil {
			return fmt.Errorf("count what is left: %w", err)
		}
		if n == 0 {
			return nil
		}
		pause(ctx, time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("%d are left: %w", n, ctx.Err())
		}
	}
}

// measureHerd compares when the last of many messages due in the same millisecond is settled,
// with a worker that has handed them over to the queue before, with when the last task of a
// bare asynq server is done.
func measureHerd(ctx context.Context, size sizes) (rows []row, err error) {
	ours, err := runHerd(ctx, size, func(s *store, due time.Time) (time.Duration, error) {
		opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: deliveryPrefix(0), Horizon: size.herdWithin / 2}})
		if err != nil {
			return 0, fmt.Errorf("backend: %w", err)
		}
		return s.work(ctx, opened, size.herd, due)
	})
	if err != nil {
		return nil, err
	}
	bare, err := runHerd(ctx, size, func(s *store, due time.Time) (time.Duration, error) {
		return s.drainBare(ctx, 0, size.herd, due)
	})
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("herd", fmt.Sprintf("%d messages due in the same millisecond: until the last is settled / until a bare asynq server is done",
			size.herd), ours.Seconds()/bare.Seconds(), 1,
			fmt.Sprintf("worker %.2f s", ours.Seconds()), fmt.Sprintf("bare server %.2f s", bare.Seconds())),
	}, nil
}

// runHerd runs one side, which begins before the herd is due.
func runHerd(ctx context.Context, size sizes, drain func(*store, time.Time) (time.Duration, error)) (took time.Duration, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	due := time.Now().Add(size.herdWithin).Truncate(time.Second) // asynq leaves a fraction out
	if err := s.fillSchedule(ctx, 0, size.herd, due, size.herdWithin/2); err != nil {
		return 0, err
	}
	if time.Until(due) < size.herdWithin/2 {
		return 0, errors.New("the herd was not submitted before its horizon: the machine is too slow for these sizes")
	}
	return drain(s, due)
}
