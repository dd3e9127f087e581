package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

const (
	// spare is from the last submit to the first due message, at least. It is longer than the horizon of
	// our sides.
	spare = 22 * time.Second
	// metered is how long before the first due message the processor times of a herd begin. Our sides and
	// River move messages that are due soon ahead of their time; that work counts, and so does polling.
	metered = 18 * time.Second
)

// measureHerd measures the delivery of n messages of as many users that are due at one millisecond.
func (h *harness) measureHerd(ctx context.Context, s spec, r *sideResult, n int) error {
	enough := spare + time.Duration(1.5*float64(n)/r.Submits.PerSecond.median()*float64(time.Second))
	due := time.Now().Add(enough).Truncate(time.Second) // asynq knows whole seconds only
	delivered, meter, err := h.deliver(ctx, s, nil, herd(n, due), due)
	if err != nil {
		return err
	}
	r.Deliveries.PerSecond.add(float64(n) / delivered.last.Sub(due).Seconds())
	r.Deliveries.StoreMicros.add(micros(meter.storeTime, n))
	r.Deliveries.SideMicros.add(micros(meter.sideTime, n))
	return nil
}

// measureLateness measures how late messages are of which so many are due a second, while others are
// pending.
func (h *harness) measureLateness(ctx context.Context, s spec, r *sideResult, n, perSecond, pending int) error {
	// The others are submitted first.
	enough := spare + time.Duration(1.5*float64(pending)/r.Submits.PerSecond.median()*float64(time.Second))
	from := time.Now().Add(enough).Truncate(time.Millisecond)
	messages := steady(n, perSecond, from)
	delivered, _, err := h.deliver(ctx, s, spread("pending", pending), messages, from)
	if err != nil {
		return err
	}
	o := delivered.judge(messages)
	slices.Sort(o.late)
	late := &r.Late
	if pending > 0 {
		late = &r.LatePending
	}
	r.Early += o.Early
	r.Due += len(messages)
	late.P50.add(quantile(o.late, 0.5))
	late.P99.add(quantile(o.late, 0.99))
	late.Max.add(quantile(o.late, 1))
	return nil
}

// used is the processor time of a delivery.
type used struct{ storeTime, sideTime time.Duration }

// deliver lets a side submit messages that nobody waits for, and others, starts its worker before the
// first of these is due, and waits until each was delivered exactly once.
func (h *harness) deliver(ctx context.Context, s spec, beside, messages []side.Message, due time.Time) (_ *deliveries, _ used, err error) {
	st, err := openStore(ctx, s.kind, false, h.cores)
	if err != nil {
		return nil, used{}, err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	if len(beside) > 0 {
		if _, err := h.submit(ctx, s, st, beside); err != nil {
			return nil, used{}, err
		}
	}
	sub, err := h.submit(ctx, s, st, messages)
	if err != nil {
		return nil, used{}, err
	}
	if len(sub.accepted) != len(messages) {
		return nil, used{}, fmt.Errorf("%s accepted %d of %d messages, where every time is free", s.name, len(sub.accepted), len(messages))
	}
	d := newDeliveries(h.file("deliveries"))
	p, _, err := startProcess(ctx, s, h.cores, side.Request{Role: side.RoleWork, Store: st.url(), Deliveries: d.path})
	if err != nil {
		return nil, used{}, err
	}
	defer func() { err = errors.Join(err, p.stop(ctx)) }()
	const ready = 500 * time.Millisecond
	if left := time.Until(due); left < ready {
		return nil, used{}, fmt.Errorf("messages were due %v before the worker of %s was ready: the machine is too slow for these sizes", ready-left, s.name)
	}
	if err := pause(ctx, time.Until(due.Add(-metered))); err != nil {
		return nil, used{}, err
	}
	meter, err := startMeter(ctx, st, p)
	if err != nil {
		return nil, used{}, err
	}
	const poll = 100 * time.Millisecond
	if err := d.await(ctx, len(messages), poll, time.Until(due)+2*time.Minute); err != nil {
		return nil, used{}, fmt.Errorf("%s: %w", s.name, err)
	}
	var u used
	if u.storeTime, u.sideTime, _, err = meter.read(ctx); err != nil {
		return nil, used{}, err
	}
	// A second delivery of the same message would come about now.
	if err := pause(ctx, time.Second); err != nil {
		return nil, used{}, err
	}
	if err := d.read(); err != nil {
		return nil, used{}, err
	}
	if err := d.judge(messages).exact(); err != nil {
		return nil, used{}, fmt.Errorf("%s: %w", s.name, err)
	}
	return d, u, nil
}

// await waits until so many messages were delivered.
func (d *deliveries) await(ctx context.Context, n int, poll, patience time.Duration) error {
	until := time.Now().Add(patience)
	for {
		if err := d.read(); err != nil {
			return err
		}
		if len(d.times) >= n {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d of %d messages were delivered after %v", len(d.times), n, patience)
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}
