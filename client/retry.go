package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	firstBackoff   = 100 * time.Millisecond
	longestBackoff = 5 * time.Second
	// mostRetryAfter is what a longer Retry-After is taken for: far from what a
	// Duration can't hold.
	mostRetryAfter = 365 * 24 * time.Hour
)

// failure is a try that failed.
type failure struct {
	err   error
	again bool          // another try may succeed
	after time.Duration // what Retry-After asks for; zero for nothing
}

// repeat calls try until it succeeds, or until there is nothing to hope for. A
// nil failure is a success.
func (c *Client) repeat(ctx context.Context, try func(context.Context) *failure) error {
	for attempt := 1; ; attempt++ {
		failed := try(ctx)
		if failed == nil {
			return nil
		}
		if err := c.pause(ctx, attempt, failed); err != nil {
			return err
		}
	}
}

// pause waits until it is time for the next try, and returns an error where
// there is none to be.
func (c *Client) pause(ctx context.Context, attempt int, failed *failure) error {
	if ctx.Err() != nil {
		return givenUp(ctx, failed.err)
	}
	if !failed.again || attempt >= c.attempts || failed.after > c.maxRetryAfter {
		return failed.err
	}
	timer := time.NewTimer(failed.after + backoff(attempt))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return givenUp(ctx, failed.err)
	}
}

// backoff is twice as long each time up to the longest, half of it at random so
// that callers who failed together do not come back together: not those who
// were told the same Retry-After either, on top of which it comes.
func backoff(attempt int) time.Duration {
	whole := longestBackoff
	if doublings := attempt - 1; firstBackoff <= longestBackoff>>doublings { // shifting up could overflow
		whole = firstBackoff << doublings
	}
	return whole/2 + rand.N(whole/2+1) //nolint:gosec // spreads load, guards nothing
}

// givenUp is the end of ctx, with what had been waited out, if anything had.
func givenUp(ctx context.Context, last error) error {
	if away, ok := errors.AsType[*UnavailableError](last); ok && errors.Is(away.Err, context.Cause(ctx)) {
		return fmt.Errorf("no answer yet: %w", ctx.Err())
	}
	return fmt.Errorf("%w, after: %w", ctx.Err(), last)
}

// retryAfter reads the Retry-After header, seconds or an HTTP date, and returns
// zero for anything else and for one in the past. A date is taken relative to
// the answer's own Date, so that the two clocks need not agree; an answer that
// has none asks for nothing.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		// The only error left is a number too large.
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil || seconds > uint64(mostRetryAfter/time.Second) {
			return mostRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(date), 0), mostRetryAfter)
}
