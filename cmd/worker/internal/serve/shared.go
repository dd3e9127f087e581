package serve

import (
	"context"
	"time"
)

// shared caches an answer of the store for a short time, so that frequent requests cost the store
// little.
type shared[T any] struct {
	look   func(context.Context) T
	within time.Duration // bounds a read
	fresh  time.Duration // how long an answer is reused

	turn   chan struct{} // held during a read, for whose answer others wait
	answer T
	looked time.Time
}

func newShared[T any](within, fresh time.Duration, look func(context.Context) T) *shared[T] {
	return &shared[T]{look: look, within: within, fresh: fresh, turn: make(chan struct{}, 1)}
}

// get returns a fresh answer, or the zero value if ctx ends while it waits for another caller's
// read. Its own read does not end with ctx, since others may wait for it.
func (s *shared[T]) get(ctx context.Context) T {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		var none T
		return none
	}
	if s.looked.IsZero() || time.Since(s.looked) >= s.fresh {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.within)
		defer cancel()
		s.answer = s.look(ctx)
		s.looked = time.Now()
	}
	return s.answer
}
