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
	// MaxRetryAfter is the longest pause, of our own or of a Retry-After.
	MaxRetryAfter = time.Hour
	// firstQuota and firstOverload are the first pauses if FCM does not say how long.
	firstQuota    = time.Minute
	firstOverload = 10 * time.Second
	// maxBackoffs bounds the backoffs that are kept. All but a few are devices'.
	maxBackoffs = 4096

	backoffQuota    = "quota"
	backoffOverload = "overload"
	backoffToken    = "token"
)

// backoffs keeps how long the last pauses were, to double them. It is safe for concurrent use.
type backoffs struct {
	mu   sync.Mutex
	last *simplelru.LRU[string, backoff]
	busy exchange.Crowd // the devices whose answers did not say whose quota was used up
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

// concernsAll notes a device whose answer did not say whose quota was used up, and reports whether
// there were too many of them for it to be the device's.
func (b *backoffs) concernsAll(device string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy.Add(device)
}

// accepted notes that FCM accepted a message.
func (b *backoffs) accepted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy.Clear()
}

// settle completes a Result with how long to wait: as long as FCM asks, or else, after a
// SlowDown, as long as the backoff of who is to wait says.
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

// next returns the pause of who is to wait: first, or twice the last if that ended no longer
// ago than it took. Answers to what was on its way before a pause began do not double it.
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
