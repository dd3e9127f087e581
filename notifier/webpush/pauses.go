package webpush

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/sendlimit/sendlimiter/notifier"
)

// pauses keeps which origins asked to be left alone, so that nothing is sent there meanwhile.
// It is safe for concurrent use.
type pauses struct {
	mu    sync.Mutex
	until *simplelru.LRU[string, pause]
}

type pause struct {
	until  time.Time
	reason notifier.Reason
}

func newPauses() (*pauses, error) {
	until, err := simplelru.NewLRU[string, pause](mostOrigins, nil)
	if err != nil {
		return nil, fmt.Errorf("make room for pauses: %w", err)
	}
	return &pauses{until: until}, nil
}

// note keeps the pause that a result asks for.
func (p *pauses) note(origin string, r notifier.Result, now time.Time) {
	if r.Status != notifier.SlowDown || r.Pause != notifier.PauseHost {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until.Add(origin, pause{until: now.Add(r.RetryAfter), reason: r.Reason})
}

// of returns how long an origin is to be left alone, and why; zero if it is not.
func (p *pauses) of(origin string, now time.Time) (time.Duration, notifier.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, ok := p.until.Get(origin)
	if !ok {
		return 0, ""
	}
	left := kept.until.Sub(now)
	if left <= 0 {
		p.until.Remove(origin)
		return 0, ""
	}
	// A clock that was set back does not make a pause longer than any.
	return min(left, MaxRetryAfter), kept.reason
}
