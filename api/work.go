package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"
)

const (
	// lentFor is how long a request or a line has its slot for work. After that it waits rather than
	// works, as for a store that is away, and others are to go on.
	lentFor = 20 * time.Millisecond
	// aloneAfter is how long an account must have been the only one to be alone.
	aloneAfter = time.Second
)

// errNoSlot is returned to no caller: work waits for a slot.
var errNoSlot = errors.New("all slots for work are taken")

// work bounds how many requests and lines of batches of an account are worked on at a time while
// several accounts are active. More would be no faster, but all of them wait for the same processors
// and the same store, and so would the requests of others. An account that is alone has no bound, and
// operators have none.
type work struct {
	slots

	now   func() time.Time
	mu    sync.Mutex
	last  holder    // whose work began last
	since time.Time // since when nobody else's has
}

func newWork(now func() time.Time) *work {
	each := 2 * runtime.GOMAXPROCS(0)
	return &work{now: now, slots: slots{
		most: math.MaxInt, perAccount: each, perOperator: math.MaxInt,
		full: func() error { return errNoSlot }, share: func(holder, int) error { return errNoSlot },
	}}
}

// begin waits for a slot until ctx ends, and returns what gives it back.
func (w *work) begin(ctx context.Context, of holder) (done func(), err error) {
	if w.alone(of) {
		return func() {}, nil
	}
	if w.await(ctx, of) != nil {
		return nil, fmt.Errorf("waiting to be worked on: %w", ctx.Err())
	}
	leave := sync.OnceFunc(func() { w.leave(of) })
	over := time.AfterFunc(lentFor, leave)
	return func() {
		over.Stop()
		leave()
	}, nil
}

// alone notes that work of an account begins, and reports whether it is the only one.
func (w *work) alone(of holder) bool {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last != of {
		w.last, w.since = of, now
	}
	return now.Sub(w.since) > aloneAfter
}

// lineByLine returns a judge of lines each of which has a slot for work.
func lineByLine[Asked, Answer any](
	w *work, of holder, judge func(context.Context, Asked) (Answer, error),
) func(context.Context, Asked) (Answer, error) {
	return func(ctx context.Context, asked Asked) (none Answer, _ error) {
		done, err := w.begin(ctx, of)
		if err != nil {
			return none, err
		}
		defer done()
		return judge(ctx, asked)
	}
}
