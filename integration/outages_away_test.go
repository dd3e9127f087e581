package integration_test

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"time"
)

// awayKind is what is away.
type awayKind string

const (
	workersAway  awayKind = "workers"
	providerAway awayKind = "provider"
	storeAway    awayKind = "Redis"
	queueLost    awayKind = "the queue's keys"
	machineAway  awayKind = "the machine"
)

// awaySpan is when something was away.
type awaySpan struct {
	what        awayKind
	from, until time.Time
}

// goAway carries out an outage, to its end.
func (o *outages) goAway(a awayPlan) {
	span := awaySpan{what: a.what, from: time.Now()}
	back := span.from.Add(a.lasts)
	switch a.what {
	case workersAway:
		for _, n := range a.workers {
			o.workers[n].goAway(a.signal)
		}
		time.Sleep(time.Until(back))
		for _, n := range a.workers {
			o.workers[n].comeBack()
		}
		for _, n := range a.workers {
			o.await(o.workers[n].delivers)
		}
	case providerAway:
		o.provider.goAway(&a)
		time.Sleep(time.Until(back))
		o.provider.goAway(nil)
	case storeAway:
		o.storeAway(a, back)
	case queueLost:
		o.await(func() bool { return o.loseQueue() == nil })
	case machineAway: // nobody plans that
	}
	if now := time.Now(); now.After(back) {
		back = now
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	span.until = back
	o.away = append(o.away, span)
}

func (o *outages) storeAway(a awayPlan, back time.Time) {
	for _, server := range o.servers {
		if !a.hangs {
			server.Kill()
		} else if err := syscall.Kill(server.PID(), syscall.SIGSTOP); err != nil {
			o.Error(err)
		}
	}
	time.Sleep(time.Until(back))
	for _, server := range o.servers {
		if !a.hangs {
			if err := server.Restart(o.Context()); err != nil {
				o.Error(err)
			}
		} else if err := syscall.Kill(server.PID(), syscall.SIGCONT); err != nil {
			o.Error(err)
		}
	}
	for _, server := range o.servers[1:] { // masters of a cluster wait for each other
		o.await(func() bool { return complete(o.Context(), o.servers[0]) && complete(o.Context(), server) })
	}
}

// loseQueue removes all of the queue's keys, as a hand or an eviction could.
func (o *outages) loseQueue() error {
	const all = `for _, key in ipairs(redis.call('KEYS', 'asynq:*')) do redis.call('UNLINK', key) end return 1`
	for _, server := range o.servers {
		if err := server.Client().Eval(o.Context(), all, nil).Err(); err != nil {
			return err
		}
	}
	return nil
}

// await waits for a condition in a goroutine of the story.
func (o *outages) await(holds func() bool) {
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			o.Error("it does not come back")
			return
		}
	}
}

// watchMachine notes when the machine, or Redis while it is there, stands still for longer
// than messages bear: that is an outage, too. The returned function ends it.
func (o *outages) watchMachine() (end func()) {
	client := outagesClient(o.store.addresses)
	ctx, stop := context.WithCancel(o.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for last := time.Now(); ctx.Err() == nil; {
			time.Sleep(20 * time.Millisecond)
			_ = client.Ping(ctx).Err() // how long it takes counts
			now := time.Now()
			if now.Sub(last) > machineStall {
				o.mu.Lock()
				o.away = append(o.away, awaySpan{machineAway, last, now})
				o.mu.Unlock()
			}
			last = now
		}
	})
	return sync.OnceFunc(func() {
		stop()
		watching.Wait()
		_ = client.Close()
	})
}

// mayBeLate reports whether something was away when a message was due, or shortly before, or
// whether the queue lost its task: the relay finds each message after its time.
func (o *outages) mayBeLate(p promise) bool {
	return o.isAway(p.at) || slices.ContainsFunc(o.away, func(a awaySpan) bool {
		return a.what == queueLost && p.asked.Before(a.until) && p.at.After(a.from.Add(-outagesTolerance))
	})
}

// isAway reports whether something but the queue's keys was away at a time, or shortly
// before.
func (o *outages) isAway(at time.Time) bool {
	return slices.ContainsFunc(o.away, func(a awaySpan) bool {
		return a.what != queueLost && at.After(a.from.Add(-outagesTolerance)) && at.Before(a.until.Add(a.aftermath()))
	})
}

// aftermath returns for how long an outage is felt.
func (a awaySpan) aftermath() time.Duration {
	if a.what == machineAway {
		return 2 * time.Second
	}
	// Leases end, retries come, a pause that the provider asked for ends, and connections
	// are made again.
	return outagesLease + 4*time.Second
}
