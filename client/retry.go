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
	// longestRetryAfter replaces a longer Retry-After, which might overflow a Duration.
	longestRetryAfter = 365 * 24 * time.Hour
)

type failure struct {
	err   error
	again bool          // another try may succeed
	after time.Duration // the Retry-After; zero for none
}

// repeat calls try until it succeeds or a retry is useless. A nil failure is a success.
func (c *Client) repeat(ctx context.Context, what call, try func(context.Context) *failure) error {
	for attempt, sent := 1, false; ; attempt++ {
		failed := try(ctx)
		if failed == nil {
			return nil
		}
		away, is := errors.AsType[*UnavailableError](failed.err)
		if sent = sent || !is || !away.Unsent; is {
			away.Unsent = !sent
		}
		failed.again = failed.again && !what.once
		if err := c.pause(ctx, attempt, failed); err != nil {
			return fmt.Errorf("%s: %w", what.doing, err)
		}
	}
}

// pause waits until the next try. It returns an error if there is no next try.
func (c *Client) pause(ctx context.Context, attempt int, failed *failure) error {
	if ctx.Err() != nil {
		return givenUp(ctx, failed.err)
	}
	if !failed.again || attempt >= c.attempts || failed.after > c.maxRetryAfter {
		return failed.err
	}
	if !sleep(ctx, failed.after+backoff(attempt)) {
		return givenUp(ctx, failed.err)
	}
	return nil
}

// sleep waits. It returns false if ctx ends first.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// backoff returns a wait that doubles with each attempt, up to the longest. Half of it is random,
// so that callers who failed together do not retry together. It is added to Retry-After for the
// same reason.
func backoff(attempt int) time.Duration {
	whole := longestBackoff
	if doublings := attempt - 1; firstBackoff <= longestBackoff>>doublings { // shifting up could overflow
		whole = firstBackoff << doublings
	}
	return whole/2 + rand.N(whole/2+1)
}

// givenUp returns the error of ctx with the last failure, if any.
func givenUp(ctx context.Context, last error) error {
	if away, ok := errors.AsType[*UnavailableError](last); ok && errors.Is(away.Err, context.Cause(ctx)) {
		return fmt.Errorf("no answer yet: %w", ctx.Err())
	}
	return fmt.Errorf("%w, after: %w", ctx.Err(), last)
}

// retryAfter reads the Retry-After header: seconds or an HTTP date. It returns zero for anything
// else and for a time in the past. It compares a date with the answer's Date, so the clocks need
// not agree; without a Date it returns zero.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		// The only error left is a number too large.
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil || seconds > uint64(longestRetryAfter/time.Second) {
			return longestRetryAfter
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
	return min(max(at.Sub(date), 0), longestRetryAfter)
}
