package job

import (
	"context"
	"sync"
	"time"
)

// latestWithin bounds a look of Latest.
const latestWithin = 500 * time.Millisecond

// Latest is the last known value of something that looks at the store follow. It is safe for
// concurrent use.
type Latest[T any] struct {
	holds time.Duration
	local func() time.Time
	turn  chan struct{} // held by the goroutine that asks the store

	mu    sync.Mutex
	value T
	seen  time.Time // when the last look began, or the last failed one ended
}

// NewLatest returns a value that may be used for a time after its look began. local is the local clock.
func NewLatest[T any](holds time.Duration, local func() time.Time) *Latest[T] {
	return &Latest[T]{holds: holds, local: local, turn: make(chan struct{}, 1)}
}

// Learn sets the value that a look has read, which began at a time, unless a later look was first.
// It returns the value before.
func (l *Latest[T]) Learn(value T, began time.Time) (before T, newer bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before = l.value; !began.After(l.seen) {
		return before, false
	}
	l.value, l.seen = value, began
	return before, true
}

// Get returns the value. If it is too old, because the process stood still, it calls look first,
// which has to call Learn. If that fails, it returns the last known value, and looks no sooner than
// otherwise.
func (l *Latest[T]) Get(ctx context.Context, look func(context.Context) error) T {
	value, young := l.known()
	if young {
		return value
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if value, young = l.known(); young {
		return value
	}
	ctx, done := context.WithTimeout(ctx, latestWithin)
	defer done()
	if look(ctx) != nil {
		l.mu.Lock()
		l.seen = l.local()
		l.mu.Unlock()
	}
	value, _ = l.known()
	return value
}

func (l *Latest[T]) known() (value T, young bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.local().Sub(l.seen) < l.holds
}
