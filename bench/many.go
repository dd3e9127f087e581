package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

const (
	fewWorkers  = 2
	manyWorkers = 8
	// startTime is how long worker processes have to start.
	startTime = 5 * time.Second
	// manyAhead is how long after its submit a message of a steady load is due.
	manyAhead = 4 * time.Second
)

// measureIdle measures the share of a processor that Redis takes for idle worker processes, and
// that the processes take.
func measureIdle(ctx context.Context, size sizes) (rows []row, err error) {
	program, err := buildProgram(ctx, "worker")
	if err != nil {
		return nil, err
	}
	s, err := openSeeded(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	alone, err := s.shareOfRedis(ctx, size.idleFor)
	if err != nil {
		return nil, err
	}
	stop, err := s.startProcesses(ctx, program, "http://127.0.0.1:9/", manyWorkers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	pause(ctx, 2*startTime)
	idle, err := s.shareOfRedis(ctx, size.idleFor)
	if err != nil {
		return nil, err
	}
	return []row{{
		Name: "idle", What: fmt.Sprintf("processor time of Redis with %d idle worker processes", manyWorkers), Goal: "≤ 0.5 %",
		Measured: fmt.Sprintf("%.2f %%", 100*idle), Verdict: judge(idle <= 0.005),
		Figures: []string{fmt.Sprintf("without a worker %.2f %%", 100*alone)},
	}}, nil
}

// shareOfRedis returns the share of a processor that Redis takes over a time.
func (s *store) shareOfRedis(ctx context.Context, span time.Duration) (float64, error) {
	before, err := s.mainThread(ctx)
	if err != nil {
		return 0, err
	}
	pause(ctx, span)
	after, err := s.mainThread(ctx)
	return (after - before).Seconds() / span.Seconds(), err
}

// measureMany measures how late messages of a steady load are with few and with many worker
// processes, on a machine whose processors suffice for a few. The rounds of both alternate.
func measureMany(ctx context.Context, size sizes) ([]row, error) {
	program, err := buildProgram(ctx, "worker")
	if err != nil {
		return nil, err
	}
	late := make(map[int][]float64)
	var figures []string
	for range size.manyRounds {
		for _, workers := range []int{fewWorkers, manyWorkers} {
			round, err := latenessOfMany(ctx, program, workers, size)
			if err != nil {
				return nil, fmt.Errorf("%d workers: %w", workers, err)
			}
			late[workers] = append(late[workers], quantile(round, 0.99))
			figures = append(figures, fmt.Sprintf("%d workers: median %.1f ms, 99th percentile %.1f ms, at most %.1f ms",
				workers, median(round), quantile(round, 0.99), quantile(round, 1)))
		}
	}
	return []row{atMost("workers-many", fmt.Sprintf("99th percentile of lateness of %d messages a minute with %d worker processes / with %d",
		size.manyAMinute, manyWorkers, fewWorkers), median(late[manyWorkers])/median(late[fewWorkers]), 2, figures...)}, nil
}

// latenessOfMany submits messages at a steady rate to so many workers, and returns how many ms each
// was late.
func latenessOfMany(ctx context.Context, program string, workers int, size sizes) (late []float64, err error) {
	s, err := openSeeded(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	receiver := notifiertest.NewReceiver(time.Now)
	defer receiver.Close()
	stop, err := s.startProcesses(ctx, program, receiver.URL(), workers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	pause(ctx, startTime)
	submitter, err := s.openSubmitter("", submit.Options{Batch: true})
	if err != nil {
		return nil, fmt.Errorf("submitter: %w", err)
	}
	size.dueMessages, size.dueWithin = int(float64(size.manyAMinute)*size.manyFor.Minutes()), size.manyFor
	began := time.Now()
	_, err = drive(ctx, size.dueMessages, func(ctx context.Context, i int) error {
		at := began.Add(time.Duration(i) * size.manyFor / time.Duration(size.dueMessages))
		pause(ctx, time.Until(at))
		return submitted(ctx, submitter, message.Message{User: "due-" + newID(), SendAt: at.Add(manyAhead), Title: title, Body: body})
	})
	if err := errors.Join(err, submitter.Close()); err != nil {
		return nil, err
	}
	return arrivals(ctx, receiver, size)
}
