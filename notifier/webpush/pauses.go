package webpush

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// pauses has the pauses that origins asked for, during which nothing is sent there. It is safe for
// concurrent use.
type pauses struct {
	mu    sync.Mutex
	known *simplelru.LRU[string, pause]
}

// pause is the state of an origin.
type pause struct {
	until  time.Time // zero for no pause
	reason notifier.Reason
	busy   exchange.Crowd // devices with too many pushes
}

func newPauses() (*pauses, error) {
	known, err := simplelru.NewLRU[string, pause](maxOrigins, nil)
	if err != nil {
		return nil, fmt.Errorf("make room for pauses: %w", err)
	}
	return &pauses{known: known}, nil
}

// note keeps the pause of a result, and returns the result: with a pause of the host, if too many
// of its devices have to slow down.
func (p *pauses) note(origin, address string, r notifier.Result, now time.Time) notifier.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, known := p.known.Get(origin)
	if !known && r.Pause != notifier.PauseDevice && r.Pause != notifier.PauseHost {
		return r
	}
	r = kept.busy.Note(r, address, notifier.PauseHost)
	if r.Pause == notifier.PauseHost {
		kept.until, kept.reason = now.Add(r.RetryAfter), r.Reason
	}
	p.known.Add(origin, kept)
	return r
}

// of returns the rest of an origin's pause and its reason; zero for none.
func (p *pauses) of(origin string, now time.Time) (time.Duration, notifier.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, _ := p.known.Get(origin)
	left := kept.until.Sub(now)
	if left <= 0 {
		return 0, ""
	}
	// A clock that was set back does not prolong a pause.
	return min(left, MaxRetryAfter), kept.reason
}
