package queue

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// ordinary is how many messages of an account that are due in the same second a program
	// puts into the queues that all accounts share. The others go into lanes.
	ordinary = 64
	// herdSeconds is how many seconds herds counts at a time: those of two horizons.
	herdSeconds = 256
	// herdCounters is how many counters a second has. Two accounts with the same one get their
	// lanes earlier.
	herdCounters = 512
	// listedFor is for how long a lane counts as listed. It is well below serveOtherFor, after
	// which it may be removed.
	listedFor = 10 * time.Second
)

// herds finds out which messages of an account are so many at a time that they get a lane. It
// counts what this program puts into the queue; memory is bounded, however many accounts there
// are.
type herds struct {
	mu      sync.Mutex
	seed    maphash.Seed
	seconds [herdSeconds]*herdSecond
	listed  map[string]time.Time // lanes, by name: when this program listed them, local
	fresh   chan struct{}        // has an element once a lane was listed
}

// newHerds returns herds that has counted nothing.
func newHerds() herds { return herds{seed: maphash.MakeSeed(), fresh: make(chan struct{}, 1)} }

// herdSecond counts the messages that are due in one second, by account.
type herdSecond struct {
	second int64 // Unix
	counts [herdCounters]uint8
}

// add counts a message of an account, and reports whether the message belongs to a herd.
func (h *herds) add(account string, due time.Time) bool {
	second := due.Unix()
	h.mu.Lock()
	defer h.mu.Unlock()
	at := &h.seconds[uint64(second)%herdSeconds]
	if *at == nil {
		*at = new(herdSecond)
	}
	if (*at).second != second {
		**at = herdSecond{second: second}
	}
	count := &(*at).counts[maphash.String(h.seed, account)%herdCounters]
	if *count >= ordinary {
		return true
	}
	*count++
	return false
}

// list adds a lane that has just got a task to asynq's list of queues, unless that was done a
// moment ago. Asynq adds a queue only once, and a lane is removed when it was empty for a while.
func (h *herds) list(ctx context.Context, client redis.UniversalClient, lane string, now time.Time) error {
	h.mu.Lock()
	last, known := h.listed[lane]
	h.mu.Unlock()
	if known && now.Sub(last) < listedFor {
		return nil
	}
	if err := client.SAdd(ctx, queuesKey, lane).Err(); err != nil {
		return err //nolint:wrapcheck // the caller says what it was doing
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listed == nil {
		h.listed = make(map[string]time.Time)
	}
	for name, at := range h.listed {
		if now.Sub(at) >= listedFor {
			delete(h.listed, name)
		}
	}
	h.listed[lane] = now
	select {
	case h.fresh <- struct{}{}:
	default:
	}
	return nil
}
