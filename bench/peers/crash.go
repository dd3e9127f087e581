package main

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

// crash is what kill -9 did to a side.
type crash struct {
	Accepted int     `json:"accepted"`
	Lost     int     `json:"lost"` // not delivered when the cell ended
	Doubled  int     `json:"doubled"`
	Early    int     `json:"early"`
	Worker   float64 `json:"worker"` // seconds from the kill of the worker to the last delivery of its herd
	Store    float64 `json:"store"`  // the same for the store
	// Waited and StoreWaited count the messages of the herds that were delivered later than 5 s after the kill.
	Waited      int `json:"waited"`
	StoreWaited int `json:"store_waited"`
}

// outage is what a side did after its workers were away for more than a minute.
type outage struct {
	Accepted int `json:"accepted"` // of two messages a user, a minute and a second apart
	Lost     int `json:"lost"`
	TooClose int `json:"too_close"` // deliveries within a minute after another to the same user
}

// measureCrash kills the worker of a side while it delivers a herd, and the store while it delivers
// another one, each after a tenth, and starts them again at once. It looks at what was delivered after
// long enough for every side to take up what was under way.
func (h *harness) measureCrash(ctx context.Context, s spec, r *sideResult, n int, wait time.Duration) (err error) {
	const (
		poll          = 5 * time.Millisecond
		first, second = 40 * time.Second, 20 * time.Second
	)
	st, err := openStore(ctx, s.kind, true, h.cores)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	due := time.Now().Add(first).Truncate(time.Second)
	one, two := herd(n, due), users("herd2", n, func(int) time.Time { return due.Add(second) })
	sub, err := h.submit(ctx, s, st, append(one, two...))
	if err != nil {
		return err
	}
	d := newDeliveries(h.file("deliveries"))
	start := func() (*process, error) {
		p, _, err := startProcess(ctx, s, h.cores, side.Request{Role: side.RoleWork, Store: st.url(), Deliveries: d.path})
		return p, err
	}
	p, err := start()
	if err != nil {
		return err
	}
	err = d.await(ctx, n/10, poll, time.Until(due)+time.Minute)
	p.kill()
	workerKilled := time.Now()
	if err != nil {
		return err
	}
	if p, err = start(); err != nil {
		return err
	}
	defer p.kill()
	if err := pause(ctx, time.Until(due.Add(second))); err != nil {
		return err
	}
	if err := d.read(); err != nil {
		return err
	}
	if err := d.await(ctx, len(d.times)+n/10, poll, time.Minute); err != nil {
		return err
	}
	storeKilled := time.Now()
	if err := st.restart(ctx); err != nil {
		return err
	}
	if err := h.cores.store(ctx, st.pid()); err != nil {
		return err
	}
	if err := pause(ctx, wait); err != nil {
		return err
	}
	if err := d.read(); err != nil {
		return err
	}
	o := d.judge(sub.accepted)
	r.Crash = crash{
		Accepted: len(sub.accepted), Lost: o.Lost, Doubled: o.Doubled, Early: o.Early,
	}
	r.Crash.Worker, r.Crash.Waited = d.after(workerKilled, one)
	r.Crash.Store, r.Crash.StoreWaited = d.after(storeKilled, two)
	return nil
}

// after returns how many seconds after a kill the last of some messages was first delivered, and how many
// of them waited for long.
func (d *deliveries) after(kill time.Time, messages []side.Message) (seconds float64, waited int) {
	const long = 5.0
	for _, m := range messages {
		of := d.times[m.ID]
		if len(of) == 0 {
			continue
		}
		took := of[0].Sub(kill).Seconds()
		seconds = max(seconds, took)
		if took > long {
			waited++
		}
	}
	return seconds, waited
}

// measureOutage submits two messages to each user, a minute and a second apart, and starts a worker only
// after both are due.
func (h *harness) measureOutage(ctx context.Context, s spec, r *sideResult, n int) (err error) {
	const (
		away = 65 * time.Second
		wait = 75 * time.Second
	)
	st, err := openStore(ctx, s.kind, false, h.cores)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	from := time.Now().Add(2 * spare).Truncate(time.Millisecond)
	sub, err := h.submit(ctx, s, st, pairs(n, from))
	if err != nil {
		return err
	}
	if err := pause(ctx, time.Until(from.Add(away))); err != nil {
		return err
	}
	d := newDeliveries(h.file("deliveries"))
	p, _, err := startProcess(ctx, s, h.cores, side.Request{Role: side.RoleWork, Store: st.url(), Deliveries: d.path})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop(ctx)) }()
	if err := pause(ctx, wait); err != nil {
		return err
	}
	if err := d.read(); err != nil {
		return err
	}
	received := make(map[string][]time.Time)
	for _, m := range sub.accepted {
		received[m.User] = append(received[m.User], d.times[m.ID]...)
	}
	r.Outage = outage{Accepted: len(sub.accepted), Lost: d.judge(sub.accepted).Lost, TooClose: countTooClose(received)}
	return nil
}

// measureWrong submits the lines of the real file in its order, and judges each answer.
func (h *harness) measureWrong(ctx context.Context, s spec, r *sideResult, messages []side.Message) (err error) {
	st, err := openStore(ctx, s.kind, false, h.cores)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	sub, err := h.submit(ctx, s, st, messages)
	if err != nil {
		return err
	}
	r.Wrong = judgeAnswers(messages, sub.answers)
	r.RealPerSecond = sub.perSecond()
	return nil
}
