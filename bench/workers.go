package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

const (
	// slowAnswer is how long a slow provider takes for an answer.
	slowAnswer = 200 * time.Millisecond
	// restarted is how many workers are restarted one after the other.
	restarted = 3
	// restartPause is the time from a start to the next stop.
	restartPause = time.Second
)

// measureWorkers measures how the deliveries a second grow with the number of worker
// processes, if the provider is slow, and how late messages are while workers are restarted
// one after the other.
func measureWorkers(ctx context.Context, size sizes) ([]row, error) {
	program, err := buildProgram(ctx, "worker")
	if err != nil {
		return nil, err
	}
	var figures []string
	var one, worst float64
	for _, workers := range size.workers {
		rate, err := rateOfWorkers(ctx, program, workers, workers*size.slowPushes)
		if err != nil {
			return nil, err
		}
		if one == 0 {
			one, worst = rate/float64(workers), 1
		}
		share := rate / (one * float64(workers))
		worst = min(worst, share)
		figures = append(figures, fmt.Sprintf("%d workers %.0f/s, %.2f of linear", workers, rate, share))
	}
	late, err := latenessOfRestarts(ctx, program, size)
	if err != nil {
		return nil, err
	}
	return []row{
		atLeast("workers", fmt.Sprintf("deliveries a second of %d worker processes, with a provider that takes %s / as many times those of one",
			size.workers[len(size.workers)-1], slowAnswer), worst, 0.9, figures...),
		lateRow("workers-restart", fmt.Sprintf("99th percentile of lateness of %d messages due over %.0f s, while %d workers are restarted one after the other",
			size.restartMessages, size.restartWithin.Seconds(), restarted), late, 100),
	}, nil
}

// workerProcess is a process of the worker's program.
type workerProcess struct{ *exec.Cmd }

// startProcess starts a worker that delivers to a URL.
func (s *store) startProcess(ctx context.Context, program, url string) (workerProcess, error) {
	command := exec.CommandContext(ctx, program)
	command.Env = []string{
		"REDIS_URL=" + s.server.URL(), "SENDLIMIT_PUSH_URL=" + url, "SENDLIMIT_LISTEN=off", "SENDLIMIT_LOG_LEVEL=warn",
		"SENDLIMIT_TOLERANCE=1m", // all messages of a crowd are sent as on time
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return workerProcess{}, fmt.Errorf("start a worker: %w", err)
	}
	return workerProcess{command}, nil
}

// startProcesses starts n workers that deliver to a URL, and returns what stops them.
func (s *store) startProcesses(ctx context.Context, program, url string, n int) (stop func() error, err error) {
	var running []workerProcess
	stop = func() (err error) {
		for _, process := range running {
			err = errors.Join(err, process.stop())
		}
		return err
	}
	for range n {
		process, err := s.startProcess(ctx, program, url)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		running = append(running, process)
	}
	return stop, nil
}

// stop asks the process to stop, and waits for its end.
func (w workerProcess) stop() error {
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop a worker: %w", err)
	}
	if err := w.Wait(); err != nil {
		return fmt.Errorf("stop a worker: %w", err)
	}
	return nil
}

// rateOfWorkers returns the deliveries a second of n messages that are due at the same time.
func rateOfWorkers(ctx context.Context, program string, workers, n int) (rate float64, err error) {
	s, err := openSeeded(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	count := newTally(n)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pause(r.Context(), slowAnswer)
		count.add()
		w.WriteHeader(http.StatusNoContent)
	}))
	defer provider.Close()
	submitter, err := s.openSubmitter("", submit.Options{Batch: true})
	if err != nil {
		return 0, fmt.Errorf("submitter: %w", err)
	}
	due := time.Now().Add(4*time.Second + time.Duration(n)*200*time.Microsecond)
	_, err = drive(ctx, n, func(ctx context.Context, i int) error {
		return submitted(ctx, submitter, message.Message{User: userName(i), SendAt: due, Title: title, Body: body})
	})
	if err := errors.Join(err, submitter.Close()); err != nil {
		return 0, err
	}
	stop, err := s.startProcesses(ctx, program, provider.URL, workers)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if time.Now().After(due.Add(-time.Second)) {
		return 0, errors.New("the messages were due before the workers had started: the machine is too slow for these sizes")
	}
	if _, err := count.rate(ctx); err != nil {
		return 0, err
	}
	return float64(n) / count.last.Sub(due).Seconds(), nil
}

// latenessOfRestarts returns how many ms each message was late while workers are restarted
// one after the other. Each message arrives once.
func latenessOfRestarts(ctx context.Context, program string, size sizes) (late []float64, err error) {
	s, err := openSeeded(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	receiver := notifiertest.NewReceiver(time.Now)
	defer receiver.Close()
	running := make([]workerProcess, restarted)
	for i := range running {
		if running[i], err = s.startProcess(ctx, program, receiver.URL()); err != nil {
			return nil, err
		}
	}
	size.dueMessages, size.dueWithin = size.restartMessages, size.restartWithin
	restarting, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.restart(restarting, running, program, receiver.URL()) }()
	err = s.submitDue(ctx, "", size)
	if err == nil {
		late, err = arrivals(ctx, receiver, size)
	}
	stop()
	err = errors.Join(err, <-ended)
	for _, process := range running {
		err = errors.Join(err, process.stop())
	}
	if n := len(receiver.Requests()); err == nil && n != size.dueMessages {
		err = fmt.Errorf("%d messages arrived %d times", size.dueMessages, n)
	}
	return late, err
}

// restart stops a worker after the other, and starts another one in its place, until ctx
// ends.
func (s *store) restart(ctx context.Context, running []workerProcess, program, url string) (err error) {
	ended := func() bool {
		pause(ctx, restartPause)
		return ctx.Err() != nil
	}
	for i := 0; !ended(); i = (i + 1) % len(running) {
		if err := running[i].stop(); err != nil {
			return err
		}
		if running[i], err = s.startProcess(context.WithoutCancel(ctx), program, url); err != nil {
			return err
		}
	}
	return nil
}
