package judge

import "sync/atomic"

// spelled caches the text of the last value for scripts, since most calls have the same one. It is
// safe for concurrent use.
type spelled[T comparable] struct {
	last atomic.Pointer[spelling[T]]
}

type spelling[T comparable] struct {
	value T
	word  any
}

// of returns the text of a value. It calls spell if the last value was another one.
func (s *spelled[T]) of(value T, spell func() string) any {
	if known := s.last.Load(); known != nil && known.value == value {
		return known.word
	}
	fresh := &spelling[T]{value: value, word: spell()}
	s.last.Store(fresh)
	return fresh.word
}
