package events

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Audience is who listens to events, as the scripts of a program know it, and where they
// may have written events since. A nil Audience is nobody. It is safe for concurrent use.
type Audience struct {
	keep     string                 // how long events are kept, ms
	argument atomic.Pointer[string] // nil for nobody

	mu      sync.Mutex
	changed map[int]struct{} // partitions
	noted   chan struct{}
}

// NewAudience returns an audience of nobody. The options are those of the Log.
func NewAudience(o Options) *Audience {
	keep := strconv.FormatInt(o.WithDefaults().Keep.Milliseconds(), 10)
	return &Audience{keep: keep, changed: make(map[int]struct{}), noted: make(chan struct{}, 1)}
}

// mostNamed is how many accounts a script gets by name: it looks through all of them.
const mostNamed = 64

// Set replaces who listens.
func (a *Audience) Set(l Listening) {
	if l.Nobody() {
		a.argument.Store(nil)
		return
	}
	names := l.accounts
	if l.everyone || len(names) > mostNamed {
		names = []string{keyspace.Everyone}
	}
	argument := a.keep + " " + strings.Join(names, " ") + " "
	a.argument.Store(&argument)
}

// Argument returns the argument of scripts that change messages, see
// lua/fragments/event.lua: "" for nobody.
func (a *Audience) Argument() string {
	if a == nil {
		return ""
	}
	argument := a.argument.Load()
	if argument == nil {
		return ""
	}
	return *argument
}

// Note notes that a script may have written events of a user's messages.
func (a *Audience) Note(user string) {
	if a.Argument() == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed[keyspace.Partition(user)] = struct{}{}
	select {
	case a.noted <- struct{}{}:
	default:
	}
}

// Noted receives after a Note, once for all since the last receive.
func (a *Audience) Noted() <-chan struct{} { return a.noted }

// Take returns the partitions that were noted since the last call, ascending.
func (a *Audience) Take() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	partitions := make([]int, 0, len(a.changed))
	for partition := range a.changed {
		partitions = append(partitions, partition)
	}
	clear(a.changed)
	slices.Sort(partitions)
	return partitions
}
