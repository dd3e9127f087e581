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
	// puts into the queues that all accounts share. The others go into lanes.
	ordinary = 64
	// herdSeconds is how many seconds herds counts at a time. With a longer horizon some share
	// their counters in turn, and fewer messages get lanes.
	herdSeconds = 512
	// herdCounters is how many counters a second has: so many that what a worker can do in a
	// second fills few of them. Two accounts with the same one get their lanes earlier.
	herdCounters = 4096
	// maxLanes is into how many lanes a program puts tasks at a time. With more herds the others
	// are in the shared queues.
	maxLanes = 256
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
	forgot  time.Time            // when mayUse last forgot lanes, local
	fresh   chan struct{}        // has an element once a lane was listed
}

// newHerds returns herds that has counted nothing.
func newHerds() herds { return herds{seed: maphash.MakeSeed(), fresh: make(chan struct{}, 1)} }

// herdSecond counts the messages that are due in one second, by account.
type herdSecond struct {
	second int64 // Unix
	counts [herdCounters]uint8
}

// add counts a message of an account, and reports whether the message belongs to a herd. What is
// overdue belongs to the present second.
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

// mayUse reports whether a program may put a task into a lane, beside those that it uses.
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

// forget drops the lanes that may have been removed since they were listed.
func (h *herds) forget(now time.Time) {
	maps.DeleteFunc(h.listed, func(_ string, at time.Time) bool { return now.Sub(at) >= serveOtherFor })
}

// list adds a lane that has just got a task to asynq's list of queues, unless that was done a
// moment ago. Asynq adds a queue only once, and a lane is removed when it was empty for a while.
// While that list can't be written, a lane counts as listed for as long as it is not removed.
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
