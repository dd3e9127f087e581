package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// measureLateness runs a worker with a webhook and measures how late messages arrive
// there, by the receiver's clock, and whether any is early. Each user has one message,
// due at a random millisecond.
func measureLateness(ctx context.Context, size sizes) ([]row, error) {
	late, err := lateness(ctx, size, 0)
	if err != nil {
		return nil, err
	}
	beside, err := lateness(ctx, size, size.pending)
	if err != nil {
		return nil, err
	}
	early := 0
	for _, ms := range slices.Concat(late, beside) {
		if ms < 0 {
			early++
		}
	}
	what := fmt.Sprintf("%d messages due over %.0f s, at a webhook: ", size.dueMessages, size.dueWithin.Seconds())
	const p99 = "99th percentile of lateness"
	return []row{
		{
			Name: "early", What: what + "early", Goal: "0", Measured: strconv.Itoa(early), Verdict: judge(early == 0),
			Figures: []string{fmt.Sprintf("earliest %.1f ms after its time", min(quantile(late, 0), quantile(beside, 0)))},
		},
		lateRow("lateness", what+p99, late, 300),
		lateRow("lateness-pending", fmt.Sprintf("%s%s, while %d more are pending", what, p99, size.pending), beside, 50),
	}, nil
}

// lateRow makes a row of how many ms messages were late, with a limit for the 99th percentile.
func lateRow(name, what string, late []float64, limit float64) row {
	p99 := quantile(late, 0.99)
	return row{
		Name: name, What: what, Goal: fmt.Sprintf("≤ %.0f ms", limit), Measured: fmt.Sprintf("%.0f ms", p99),
		Verdict: judge(p99 <= limit),
		Figures: []string{fmt.Sprintf("median %.1f ms, 99th percentile %.1f ms, at most %.1f ms", median(late), p99, quantile(late, 1))},
	}
}

// lateness returns how many ms each message was late, while so many more are pending.
func lateness(ctx context.Context, size sizes, pending int) (late []float64, err error) {
	s, err := openSeeded(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.submitPending(ctx, pending); err != nil {
		return nil, err
	}
	return s.lateness(ctx, "", size)
}

// lateness submits the messages that are due soon under a prefix, to a worker that delivers
// them, and returns how many ms each was late.
func (s *store) lateness(ctx context.Context, prefix string, size sizes) (late []float64, err error) {
	receiver := notifiertest.NewReceiver(time.Now)
	defer receiver.Close()
	push, err := webhook.New(webhook.Config{URL: receiver.URL(), Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	defer func() { err = errors.Join(err, push.Close()) }()
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: prefix}})
	if err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	stop, err := startWorker(ctx, opened, tasks.WorkerOptions{Notifier: push})
	if err != nil {
		return nil, err
	}
	err = s.submitDue(ctx, prefix, size)
	if err == nil {
		late, err = arrivals(ctx, receiver, size)
	}
	return late, errors.Join(err, stop())
}

// submitPending submits messages that are due days later, ten a user.
func (s *store) submitPending(ctx context.Context, n int) error {
	const each = 10
	submitter, err := s.openSubmitter("", submit.Options{Batch: true})
	if err != nil {
		return fmt.Errorf("submitter: %w", err)
	}
	from := time.Now().Add(2 * 24 * time.Hour).Truncate(time.Millisecond)
	_, err = drive(ctx, n, func(ctx context.Context, i int) error {
		user, day := i/each, i%each
		at := from.Add(time.Duration(day)*24*time.Hour + time.Duration(user)*time.Millisecond)
		return submitted(ctx, submitter, message.Message{User: "pending" + userName(user), SendAt: at, Title: title, Body: body})
	})
	return errors.Join(err, submitter.Close())
}

// submitDue submits messages of new users that are due at random times a few seconds ahead.
func (s *store) submitDue(ctx context.Context, prefix string, size sizes) error {
	const ahead = 4 * time.Second
	submitter, err := s.openSubmitter(prefix, submit.Options{})
	if err != nil {
		return fmt.Errorf("submitter: %w", err)
	}
	random := newRandom()
	from := time.Now().Add(ahead).Truncate(time.Millisecond)
	times := make([]time.Time, size.dueMessages)
	for i := range times {
		times[i] = from.Add(time.Duration(random.Int64N(size.dueWithin.Milliseconds())) * time.Millisecond)
	}
	_, err = drive(ctx, len(times), func(ctx context.Context, i int) error {
		return submitted(ctx, submitter, message.Message{User: "due-" + newID(), SendAt: times[i], Title: title, Body: body})
	})
	if err == nil && time.Now().After(from) {
		err = errors.New("messages were due before all were submitted: the machine is too slow for these sizes")
	}
	return errors.Join(err, submitter.Close())
}

// arrivals waits for every message and returns how many ms each was late.
func arrivals(ctx context.Context, receiver *notifiertest.Receiver, size sizes) ([]float64, error) {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, size.dueWithin+patience)
	defer cancel()
	requests, err := receiver.Wait(ctx, size.dueMessages)
	if err != nil {
		return nil, fmt.Errorf("wait for the webhook's requests: %w", err)
	}
	late := make([]float64, len(requests))
	for i, request := range requests {
		payload, err := request.Payload()
		if err != nil {
			return nil, fmt.Errorf("a webhook's request: %w", err)
		}
		due, err := time.Parse(notifier.TimeLayout, payload.SendAt)
		if err != nil {
			return nil, fmt.Errorf("send_at of a webhook's request: %w", err)
		}
		late[i] = float64(request.Arrived.Sub(due).Microseconds()) / 1000
	}
	return late, nil
}
