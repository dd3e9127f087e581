package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// The two accounts of measureFairness.
const (
	herdAccount  = "herd"
	quietAccount = "quiet"
	quietPrefix  = "quiet-" // of the users of that account
)

// measureFairness delivers a herd of one account, due in the same millisecond, beside a few
// messages a second of another. It measures how late those are, and what the herd loses against
// a herd that is alone.
func measureFairness(ctx context.Context, size sizes) ([]row, error) {
	alone, _, err := runFairness(ctx, size, 0)
	if err != nil {
		return nil, err
	}
	beside, late, err := runFairness(ctx, size, size.quiet)
	if err != nil {
		return nil, err
	}
	return []row{
		late,
		atLeast("fairness-herd", "deliveries a second of that herd / of a herd that is alone", beside/alone, 0.9,
			fmt.Sprintf("beside others %.0f/s", beside), fmt.Sprintf("alone %.0f/s", alone)),
	}, nil
}

// runFairness runs a worker for a herd and for a number of quiet messages. It returns the
// deliveries a second of the herd, and how late the others were.
func runFairness(ctx context.Context, size sizes, quiet int) (herd float64, lateness row, err error) {
	s, err := openSeeded(ctx)
	if err != nil {
		return 0, row{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, name := range []string{herdAccount, quietAccount} {
		if err := s.seedAccount(ctx, name, ""); err != nil {
			return 0, row{}, err
		}
	}
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Horizon: size.herdWithin / 2}})
	if err != nil {
		return 0, row{}, fmt.Errorf("backend: %w", err)
	}
	submitter, err := submit.New(opened, submit.Options{Batch: true})
	if err != nil {
		return 0, row{}, fmt.Errorf("submitter: %w", err)
	}
	due := time.Now().Add(size.herdWithin).Truncate(time.Second)
	_, err = drive(ctx, size.herd, func(ctx context.Context, i int) error {
		return submitted(ctx, submitter, message.Message{User: userName(i), SendAt: due, Title: title, Body: body, Account: herdAccount})
	})
	if err == nil {
		_, err = drive(ctx, quiet, func(ctx context.Context, i int) error {
			at := due.Add(size.quietWithin * time.Duration(i) / time.Duration(quiet)).Truncate(time.Millisecond)
			return submitted(ctx, submitter, message.Message{User: quietPrefix + userName(i), SendAt: at, Title: title, Body: body, Account: quietAccount})
		})
	}
	if err = errors.Join(err, submitter.Close()); err != nil {
		return 0, row{}, err
	}
	if time.Until(due) < size.herdWithin/2 {
		return 0, row{}, errors.New("the herd was not submitted before its horizon: the machine is too slow for these sizes")
	}
	to := &twoSides{herd: newTally(size.herd), quiet: newTally(quiet)}
	stop, err := startWorker(ctx, opened, tasks.WorkerOptions{Notifier: to, Tolerance: time.Hour, RelayOptions: tasks.RelayOptions{RelayEvery: time.Second}})
	if err != nil {
		return 0, row{}, err
	}
	pause(ctx, time.Until(due))
	if herd, err = to.herd.rate(ctx); err == nil && quiet > 0 {
		_, err = to.quiet.rate(ctx)
	}
	if err = errors.Join(err, stop()); err != nil || quiet == 0 {
		return herd, row{}, err
	}
	return herd, lateRow("fairness", fmt.Sprintf(
		"%d messages of an account over %.0f s, while %d of another are due in the same millisecond: 99th percentile of lateness",
		quiet, size.quietWithin.Seconds(), size.herd), to.late, 500), nil
}

// twoSides delivers nothing. It counts the messages of both accounts, and notes how many ms
// the quiet ones were late.
type twoSides struct {
	herd, quiet *tally

	mu   sync.Mutex
	late []float64
}

// Notify implements notifier.Notifier.
func (t *twoSides) Notify(_ context.Context, n notifier.Notification) notifier.Result {
	if !strings.HasPrefix(n.User, quietPrefix) {
		t.herd.add()
		return notifier.Result{Status: notifier.Delivered}
	}
	t.mu.Lock()
	t.late = append(t.late, float64(time.Since(n.SendAt).Microseconds())/1000)
	t.mu.Unlock()
	t.quiet.add()
	return notifier.Result{Status: notifier.Delivered}
}
