package queue

import (
	"context"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// ordinary is how many messages of an account that are due in the same second a program
	// puts into the shared queues. The others go into lanes.
	ordinary = 64
	// herdSeconds is how many seconds herds counts at a time. With a longer horizon, several
	// seconds share counters in turn, and fewer messages get lanes.
	herdSeconds = 512
	// herdCounters is how many counters a second has: a second's work fills few of them. Two
	// accounts with the same counter get their lanes earlier.
	herdCounters = 4096
	// maxLanes is the most lanes that a program uses at a time. Messages of further herds go into
	// the shared queues.
	maxLanes = 256
	// listedFor is how long a lane counts as listed. It is well below serveOtherFor, after
	// which a lane may be removed.
	listedFor = 10 * time.Second
)

// herds finds the messages that go into a lane, because their account has many at the same time.
// It counts the messages that this program puts into the queue, in bounded memory.
type herds struct {
	mu      sync.Mutex
	seed    maphash.Seed
	seconds [herdSeconds]*herdSecond
	listed  map[string]time.Time // when this program listed a lane, by name, local
	forgot  time.Time            // when mayUse last forgot lanes, local
	fresh   chan struct{}        // has an element once a lane was listed
}

func newHerds() herds { return herds{seed: maphash.MakeSeed(), fresh: make(chan struct{}, 1)} }

// herdSecond counts the messages that are due in one second, by account.
type herdSecond struct {
	second int64 // Unix
	counts [herdCounters]uint8
}

// add counts a message of an account, and reports whether it belongs to a herd. An
// overdue message belongs to the present second.
func (h *herds) add(account string, due, now time.Time) bool {
	second := max(due.Unix(), now.Unix())
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

// mayUse reports whether the program may use a lane.
func (h *herds) mayUse(lane string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.listed[lane]; known {
		return true
	}
	if len(h.listed) >= maxLanes && now.Sub(h.forgot) >= time.Second {
		h.forgot = now
		h.forget(now)
	}
	return len(h.listed) < maxLanes
}

// forget drops the lanes that may have been removed.
func (h *herds) forget(now time.Time) {
	maps.DeleteFunc(h.listed, func(_ string, at time.Time) bool { return now.Sub(at) >= serveOtherFor })
}

// list adds a lane with a new task to asynq's list of queues, unless it did so recently. Asynq
// adds a queue only once, but a lane may have been removed since. While the list can't be
// written, a lane counts as listed until it may be removed.
func (h *herds) list(ctx context.Context, client redis.UniversalClient, lane string, now time.Time) error {
	h.mu.Lock()
	last, known := h.listed[lane]
	h.mu.Unlock()
	if known && now.Sub(last) < listedFor {
		return nil
	}
	if err := client.SAdd(ctx, queuesKey, lane).Err(); err != nil {
		if known && now.Sub(last) < serveOtherFor {
			return nil
		}
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listed == nil {
		h.listed = make(map[string]time.Time)
	}
	h.forget(now)
	h.listed[lane] = now
	select {
	case h.fresh <- struct{}{}:
	default:
	}
	return nil
}
