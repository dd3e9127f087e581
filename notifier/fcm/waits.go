package fcm

import (
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// waits counts how often in a row Google asked to wait, so that each wait is twice the former
// one. Answers that come during a wait do not count. It is safe for concurrent use.
type waits struct {
	mu    sync.Mutex
	count int
	until time.Time
}

func (w *waits) inARow() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// note counts a wait, and forgets all of them after a success.
func (w *waits) note(r notifier.Result, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case r.Status == notifier.Delivered:
		w.count, w.until = 0, time.Time{}
	case r.Status == notifier.SlowDown && r.Pause == notifier.PauseChannel && !now.Before(w.until):
		w.count++
		w.until = now.Add(r.RetryAfter)
	}
}
