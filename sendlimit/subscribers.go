package sendlimit

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Subscribers are the accounts that have readers of events (package events), and the partitions in
// which scripts may have written events since the last Take. Nil means no accounts. They are safe
// for concurrent use.
type Subscribers struct {
	keep     string                 // how long events are kept, ms
	argument atomic.Pointer[string] // nil for no accounts

	mu      sync.Mutex
	changed map[int]struct{} // partitions
	noted   chan struct{}
}

// NewSubscribers returns subscribers without accounts. Scripts keep an event for keep.
func NewSubscribers(keep time.Duration) *Subscribers {
	return &Subscribers{
		keep: strconv.FormatInt(keep.Milliseconds(), 10), changed: make(map[int]struct{}), noted: make(chan struct{}, 1),
	}
}

// maxNamed is how many accounts a script gets by name: it searches the list for each event.
const maxNamed = 64

// Set replaces the accounts. keyspace.Everyone among them means all.
func (s *Subscribers) Set(accounts []string) {
	if len(accounts) == 0 {
		s.argument.Store(nil)
		return
	}
	if len(accounts) > maxNamed || slices.Contains(accounts, keyspace.Everyone) {
		accounts = []string{keyspace.Everyone}
	}
	argument := s.keep + " " + strings.Join(accounts, " ") + " "
	s.argument.Store(&argument)
}

// Argument returns the argument for scripts that change messages, see lua/fragments/event.lua; ""
// for no accounts.
func (s *Subscribers) Argument() string {
	if s == nil {
		return ""
	}
	argument := s.argument.Load()
	if argument == nil {
		return ""
	}
	return *argument
}

// Note records that a script may have written events of a user's messages.
func (s *Subscribers) Note(user string) {
	if s.Argument() == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed[keyspace.Partition(user)] = struct{}{}
	select {
	case s.noted <- struct{}{}:
	default:
	}
}

// Noted receives after a Note, once for all notes since the last receive.
func (s *Subscribers) Noted() <-chan struct{} { return s.noted }

// Take returns the partitions that were noted since the last call, ascending.
func (s *Subscribers) Take() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	partitions := make([]int, 0, len(s.changed))
	for partition := range s.changed {
		partitions = append(partitions, partition)
	}
	clear(s.changed)
	slices.Sort(partitions)
	return partitions
}
