package judge

import (
	"strconv"
	"sync/atomic"
	"time"
)

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
func (s *spelled[T]) of(value T, spell func(T) string) any {
	if known := s.last.Load(); known != nil && known.value == value {
		return known.word
	}
	fresh := &spelling[T]{value: value, word: spell(value)}
	s.last.Store(fresh)
	return fresh.word
}

// ahead is how far ahead a send time may lie, and how many of the kept places a user and an account
// may have in a day of UTC.
type ahead struct {
	reach, keep time.Duration
	places      int
	share       Share
	rulesShare  int // percentage of each rule that an account may use; 0 for all
}

// spellAhead formats ARGV[3], see lua/judge/arguments.lua.
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

// spellUntil formats until when rules may judge, Unix ms, for ARGV[1].
func spellUntil(until int64) string { return "!" + strconv.FormatInt(until, 10) }
