package rate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Wait is Acquire that waits until it has the permits. It calls the store again only when a
// refusal's RetryAfter is over. It returns when ctx ends, and at once, with an error that wraps
// context.DeadlineExceeded, if the deadline of ctx comes before the permits can be free. Other
// errors are those of Acquire. Now must be zero.
//
// The callers of one Permits wait in a queue: each gets its permits before later callers, whatever
// number it requests, and only the first one calls the store. Callers with Permits of their own,
// and other processes, compete: each process tries when enough permits for its first caller can be
// free, and the first to try gets them. A caller that wants many permits can lose to others that
// want few. A caller does not notice permits that are given back while it waits.
func (p *Permits) Wait(ctx context.Context, r PermitRequest) (Grant, error) {
	return p.line.wait(ctx, "", r.Now, func(ctx context.Context) (Grant, error) { return p.Acquire(ctx, r) })
}

// Wait is Take that waits until it has the tokens. It queues callers as Permits.Wait does, for each
// key, and ends like that. Now must be zero.
func (b *TokenBucket) Wait(ctx context.Context, r TokenRequest) (Grant, error) {
	return b.line.wait(ctx, r.Key, r.Now, func(ctx context.Context) (Grant, error) { return b.Take(ctx, r) })
}

// lines are the queues of waiting callers, by key.
type lines struct {
	mu    sync.Mutex
	byKey map[string]*line
}

// line is a queue. The caller whose value is in turn is the first one; the runtime serves the
// others in the order of their arrival.
type line struct {
	turn    chan struct{}
	callers int // in the queue
}

func (l *lines) enter(key string) *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = make(map[string]*line)
	}
	entered, ok := l.byKey[key]
	if !ok {
		entered = &line{turn: make(chan struct{}, 1)}
		l.byKey[key] = entered
	}
	entered.callers++
	return entered
}

func (l *lines) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey[key].callers--; l.byKey[key].callers == 0 {
		delete(l.byKey, key)
	}
}

// wait waits for the turn of a caller, and calls ask until it returns a grant or an error.
func (l *lines) wait(ctx context.Context, key string, now time.Time, ask func(context.Context) (Grant, error)) (Grant, error) {
	if !now.IsZero() {
		return Grant{}, &fault.InvalidError{Field: "now", Value: now.Format(time.RFC3339), Want: "none: waiting takes real time"}
	}
	mine := l.enter(key)
	defer l.leave(key)
	select {
	case mine.turn <- struct{}{}:
	case <-ctx.Done():
		return Grant{}, waitEnded(ctx.Err())
	}
	defer func() { <-mine.turn }()
	for {
		g, err := ask(ctx)
		if err != nil || g.Allowed {
			return g, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < g.RetryAfter {
			return g, waitEnded(context.DeadlineExceeded)
		}
		again := time.NewTimer(g.RetryAfter)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return g, waitEnded(ctx.Err())
		}
	}
}

func waitEnded(err error) error { return fmt.Errorf("waiting for a limiter: %w", err) }
