package serve

import (
	"context"
	"time"
)

// shared is an answer of the store that all get who ask within a while, so that
// asking often costs the store little.
type shared[T any] struct {
	look   func(context.Context) T
	within time.Duration // bounds a look
	fresh  time.Duration // is how long its answer is given

	turn   chan struct{} // held during a look: who asks meanwhile gets its answer
	answer T
	looked time.Time
}

func newShared[T any](within, fresh time.Duration, look func(context.Context) T) *shared[T] {
	return &shared[T]{look: look, within: within, fresh: fresh, turn: make(chan struct{}, 1)}
}

// get returns an answer that is fresh, the zero value to who does not wait for
// it. The look goes on when ctx ends, since others may be waiting for it.
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
