package persist

import (
	"context"
	"errors"
	"log/slog"
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

// Settle calls settle until the store answers, or until ended is closed, as the worker no
// longer waits. It logs the first failure as failed, and returns the last result.
func Settle(
	ctx context.Context, ended <-chan struct{}, logger *slog.Logger, failed string, settle func(context.Context) (held bool, err error),
) (bool, error) {
	for logged := false; ; logged = true {
		try, done := context.WithTimeout(ctx, TryWithin)
		held, err := settle(try)
		done()
		if !Unavailable(err) {
			return held, err
		}
		if !logged {
			logger.WarnContext(ctx, failed, "error", err) //nolint:sloglint // a sentence of the caller, fixed in the code
		}
		if !storeclock.Sleep(ctx, ended, Pause) {
			return false, err
		}
	}
}

// Unavailable reports whether an error says that the store did not answer, so that another
// try may succeed.
func Unavailable(err error) bool {
	_, away := errors.AsType[*fault.UnavailableError](err)
	return away
}
