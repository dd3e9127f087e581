package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

const (
	fewWorkers  = 2
	manyWorkers = 8
	// manyAhead is how long after its submit a message of a steady load is due.
	manyAhead = 4 * time.Second
)

// measureMany measures how late messages of a steady load are with few and with many worker
// processes on this machine, which has processors for a few. The rounds of both alternate.
func measureMany(ctx context.Context, size sizes) ([]row, error) {
	program, err := buildProgram(ctx, "worker")
	if err != nil {
		return nil, err
	}
	late := map[int][]float64{}
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
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.seedPolicy(ctx, ""); err != nil {
		return nil, err
	}
	receiver := notifiertest.NewReceiver(time.Now)
	defer receiver.Close()
	for range workers {
		process, failed := s.startProcess(ctx, program, receiver.URL())
		if failed != nil {
			return nil, failed
		}
		defer func() {
			err = errors.Join(err, process.stop())
			fmt.Fprintln(os.Stderr, "worker cpu", process.ProcessState.UserTime()+process.ProcessState.SystemTime())
		}()
	}
	pause(ctx, 3*time.Second) // they start
	submitter, err := s.openSubmitter("", submit.Options{Batch: true})
	if err != nil {
		return nil, fmt.Errorf("submitter: %w", err)
	}
	began := time.Now()
	size.dueMessages, size.dueWithin = int(float64(size.manyAMinute)*size.manyFor.Minutes()), size.manyFor
	_, err = drive(ctx, size.dueMessages, func(ctx context.Context, i int) error {
		at := began.Add(time.Duration(i) * size.manyFor / time.Duration(size.dueMessages))
		pause(ctx, time.Until(at))
		return submitted(ctx, submitter, message.Message{User: "due-" + newID(), SendAt: at.Add(manyAhead), Title: title, Body: body})
	})
	if err := errors.Join(err, submitter.Close()); err != nil {
		return nil, err
	}
	late, err = arrivals(ctx, receiver, size)
	info, _ := s.info(ctx, "cpu")
	fmt.Fprintln(os.Stderr, "redis cpu", info["used_cpu_user"], info["used_cpu_sys"], time.Since(began))
	cs, _ := s.info(ctx, "commandstats")
	for k, v := range cs {
		fmt.Fprintln(os.Stderr, workers, k, v)
	}
	return late, err
}
