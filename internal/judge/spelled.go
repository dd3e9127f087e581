package judge

import (
	"strconv"
	"sync/atomic"
	"time"
)

// spelled keeps how the last value is spelled for scripts: most calls have the same one. It
// is safe for concurrent use.
type spelled[T comparable] struct {
	last atomic.Pointer[spelling[T]]
}

type spelling[T comparable] struct {
	value T
	word  any
}

// of returns the spelling of a value. It calls spell if the last value was another one.
func (s *spelled[T]) of(value T, spell func(T) string) any {
	if known := s.last.Load(); known != nil && known.value == value {
		return known.word
	}
	fresh := &spelling[T]{value: value, word: spell(value)}
	s.last.Store(fresh)
	return fresh.word
}

// ahead is how far ahead a send time may lie, and how many places a user and an account may have
// in a day of UTC, of those that are kept.
type ahead struct {
	reach, keep time.Duration
	places      int
	share       Share
	rulesShare  int // percent of what each rule allows that an account may have; 0 for all
}

// spellAhead spells ARGV[3], see lua/judge/arguments.lua.
func spellAhead(a ahead) string {
	words := strconv.FormatInt(a.reach.Milliseconds(), 10) + " " + strconv.Itoa(a.places) + " " + strconv.FormatInt(a.keep.Milliseconds(), 10)
	if a.share.Places == 0 {
		return words
	}
	words += " " + strconv.Itoa(a.share.Places) + " " + a.share.Account
	if a.rulesShare > 0 {
		words += " " + strconv.Itoa(a.rulesShare)
	}
	return words
}

// spellUntil spells until when rules may judge, Unix ms, for ARGV[1].
func spellUntil(until int64) string { return "!" + strconv.FormatInt(until, 10) }
