package notifiertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// journal is a growing list. wait waits for entries.
type journal[T any] struct {
	mu      sync.Mutex
	entries []T
	grown   chan struct{} // closed and replaced at every entry
}

func newJournal[T any]() *journal[T] {
	return &journal[T]{grown: make(chan struct{})}
}

func (j *journal[T]) add(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
	close(j.grown)
	j.grown = make(chan struct{})
}

func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

func (j *journal[T]) wait(ctx context.Context, n int) ([]T, error) {
	for {
		j.mu.Lock()
		have, grown := len(j.entries), j.grown
		j.mu.Unlock()
		if have >= n {
			return j.all(), nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return j.all(), fmt.Errorf("waiting for %d, of which %d came: %w", n, have, ctx.Err())
		}
	}
}
