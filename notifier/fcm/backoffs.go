package fcm

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// MaxRetryAfter is the longest pause, by a backoff or a Retry-After.
	MaxRetryAfter = time.Hour
	// firstQuota and firstOverload are the first pauses without a Retry-After.
	firstQuota    = time.Minute
	firstOverload = 10 * time.Second
	// maxBackoffs bounds the kept backoffs. Almost all are of devices.
	maxBackoffs = 4096

	backoffQuota    = "quota"
	backoffOverload = "overload"
	backoffToken    = "token"
)

// backoffs keeps the lengths of the last pauses, to double them. It is safe for concurrent use.
type backoffs struct {
	mu   sync.Mutex
	last *simplelru.LRU[string, backoff]
	busy exchange.Crowd // devices whose answers did not name the exhausted quota
}

type backoff struct {
	at   time.Time
	wait time.Duration
}

func newBackoffs() (*backoffs, error) {
	last, err := simplelru.NewLRU[string, backoff](maxBackoffs, nil)
	if err != nil {
		return nil, fmt.Errorf("make room for backoffs: %w", err)
	}
	return &backoffs{last: last}, nil
}

// concernsAll notes a device whose answer did not name the exhausted quota, and reports whether
// there are too many of them for quotas of devices.
func (b *backoffs) concernsAll(device string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy.Add(device)
}

// accepted notes a success.
func (b *backoffs) accepted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy.Clear()
}

// settle sets the wait of a Result: what FCM asks for, or after a SlowDown the backoff of who.
func (b *backoffs) settle(r notifier.Result, asked time.Duration, who string, first time.Duration, now time.Time) notifier.Result {
	switch {
	case r.Status == notifier.SlowDown && asked == 0:
		r.RetryAfter = exchange.Spread(b.next(who, first, now))
	case r.Status == notifier.SlowDown, r.Status == notifier.Retry && asked > 0:
		r.RetryAfter = exchange.Spread(asked)
	default:
	}
	return r
}

// next returns the pause of who: first, or twice the last one if that ended no longer ago than it
// lasted. Answers to pushes from before the pause do not double it.
func (b *backoffs) next(who string, first time.Duration, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := first
	if last, ok := b.last.Get(who); ok {
		switch since := now.Sub(last.at); {
		case since >= 0 && since < last.wait:
			return last.wait
		case since >= 0 && since <= 2*last.wait+last.wait/5:
			wait = min(2*last.wait, MaxRetryAfter)
		}
	}
	b.last.Add(who, backoff{at: now, wait: wait})
	return wait
}
