package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// workerPushes returns the pushes a second of one worker over a channel: from the first to the
// last of n messages that are due when it starts. Each user has one message and, if the channel
// has devices, one device.
func workerPushes(ctx context.Context, n int, name string, channel opened) (rate float64, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	due, err := s.fillPushes(ctx, n, channel.device)
	if err != nil {
		return 0, err
	}
	pause(ctx, time.Until(due)+time.Second)
	shared, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Horizon: shortHorizon}})
	if err != nil {
		return 0, fmt.Errorf("backend: %w", err)
	}
	count := newTally(n)
	stop, err := startWorker(ctx, shared, tasks.WorkerOptions{
		Channels:  []channels.Setup{{Name: name, Notifier: counted{channel, count}, HasDevices: channel.device != nil}},
		Tolerance: time.Hour, RelayOptions: tasks.RelayOptions{RelayEvery: time.Second},
	})
	if err != nil {
		return 0, err
	}
	rate, err = count.rate(ctx)
	return rate, errors.Join(err, stop())
}

// fillPushes registers a device for each of n users, unless it is nil, and submits a message to
// each. All are due at the same time, which it returns.
func (s *store) fillPushes(ctx context.Context, n int, device *notifier.Device) (due time.Time, err error) {
	if err := s.seedPolicy(ctx, ""); err != nil {
		return due, err
	}
	// The queue has none of them before the worker starts, as in fillSchedule.
	shared, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Horizon: shortHorizon, LookAfter: time.Second}})
	if err != nil {
		return due, fmt.Errorf("backend: %w", err)
	}
	submitter, err := submit.New(shared, submit.Options{Batch: true})
	if err != nil {
		return due, fmt.Errorf("submitter: %w", err)
	}
	defer func() { err = errors.Join(err, submitter.Close()) }()
	all := devices.New(s.client, keyspace.KeysUnder(""), devices.Options{Shared: true})
	due = time.Now().Add(shortHorizon + 2*time.Second + time.Duration(n)*500*time.Microsecond)
	_, err = drive(ctx, n, func(ctx context.Context, i int) error {
		if device != nil {
			if _, err := all.Add(ctx, userName(i), devices.Device{Channel: device.Channel, Address: device.Address}, 0); err != nil {
				return fmt.Errorf("registering a device: %w", err)
			}
		}
		return submitted(ctx, submitter, message.Message{User: userName(i), SendAt: due, Title: title, Body: body})
	})
	if err == nil && time.Now().After(due.Add(-shortHorizon)) {
		err = errors.New("the messages were due before all were submitted: the machine is too slow for these sizes")
	}
	return due, err
}

// counted is a channel whose pushes are counted.
type counted struct {
	notifier.Notifier

	count *tally
}

// Notify implements notifier.Notifier.
func (c counted) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	r := c.Notifier.Notify(ctx, n)
	if r.Status == notifier.Delivered {
		c.count.add()
	}
	return r
}
