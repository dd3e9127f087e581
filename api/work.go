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

// lentFor is how long a request or a line has its slot for work. After that it waits rather than
// works, as for a store that is away, and others are to go on.
const lentFor = 20 * time.Millisecond

// errNoSlot is returned to no caller: work waits for a slot.
var errNoSlot = errors.New("all slots for work are taken")

// work bounds how many requests and lines of batches of an account are worked on at a time. They
// wait for the same processors and the same store as those of others, so beside others' an account
// has a few slots. Alone, it has as many as make it as fast as it can be.
// Operators have no bound.
type work struct{ slots }

func newWork(now func() time.Time) *work {
	each := 2 * runtime.GOMAXPROCS(0)
	return &work{slots{
		now:  now,
		most: math.MaxInt, perAccount: each, alone: 4 * each, perOperator: math.MaxInt,
		full: func() error { return errNoSlot }, share: func(holder, int) error { return errNoSlot },
	}}
}

// begin waits for a slot until ctx ends, and returns what gives it back.
func (w *work) begin(ctx context.Context, of holder) (done func(), err error) {
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
