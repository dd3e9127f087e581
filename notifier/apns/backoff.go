package apns

import (
	"sync"
	"time"
)

const (
	// firstBackoff and longestBackoff bound the pause after a 503 without a Retry-After.
	firstBackoff   = 10 * time.Second
	longestBackoff = 10 * time.Minute
)

// backoff computes the pause after a 503 without a Retry-After. It doubles until the server works.
// It is safe for concurrent use.
type backoff struct {
	mu    sync.Mutex
	wait  time.Duration // the last pause; zero after a success
	until time.Time
}

// next returns the pause. Pushes that were sent together get the same.
func (b *backoff) next(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := b.until.Sub(now); b.wait > 0 && left > 0 && left <= b.wait {
		return b.wait
	}
	b.wait = min(max(2*b.wait, firstBackoff), longestBackoff)
	b.until = now.Add(b.wait)
	return b.wait
}

// reset ends the backoff, since the server works.
func (b *backoff) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait = 0
}
