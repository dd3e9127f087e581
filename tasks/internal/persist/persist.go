package persist

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// TryWithin bounds one try.
	TryWithin = 2 * time.Second
	// Pause is between two tries at a store that is away.
	Pause = 500 * time.Millisecond
)

// Settle calls settle until the store answers, or until ended is closed. It calls failed with the
// first failure, and returns the last result.
func Settle(
	ctx context.Context, ended <-chan struct{}, failed func(context.Context, error), settle func(context.Context) (held bool, err error),
) (bool, error) {
	for first := true; ; first = false {
		try, done := context.WithTimeout(ctx, TryWithin)
		held, err := settle(try)
		done()
		if !Unavailable(err) {
			return held, err
		}
		if first {
			failed(ctx, err)
		}
		if !storeclock.Sleep(ctx, ended, Pause) {
			return false, err
		}
	}
}

// Unavailable reports whether the store did not answer: another try may succeed.
func Unavailable(err error) bool {
	_, away := errors.AsType[*fault.UnavailableError](err)
	return away
}
