package submit

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// DefaultStoreFullAt is the percentage of the store's maxmemory above which no message is accepted.
// The rest is for deliveries, which need room too.
const DefaultStoreFullAt = 85

// followEvery is how old the last look at the store's fullness may get.
const followEvery = 2 * time.Second

// lookWithin bounds the check of the store's memory, as a caller waits for it. If the store does
// not answer, the script that follows reports that.
const lookWithin = 500 * time.Millisecond

// messageOverhead is the size of a message in the store without its content, in bytes. It is an
// upper estimate, so that a check comes too early rather than too late.
const messageOverhead = 2 << 10

// capacity follows how full the store is. Its answer is at most followEvery old, and newer after
// many submits, so that a fast submitter does not fill a small store between two checks.
type capacity struct {
	client  redis.UniversalClient
	percent int
	local   func() time.Time

	looking sync.Mutex
	current atomic.Pointer[fullness]
	added   atomic.Int64 // bytes since the last look, about
}

// fullness is the result of a look.
type fullness struct {
	refusal error // nil if there is room
	room    int64 // bytes that may still be added
	looked  time.Time
}

func newCapacity(client redis.UniversalClient, percent int) (*capacity, error) {
	if percent == 0 {
		percent = DefaultStoreFullAt
	}
	if percent < 50 || percent > 100 {
		return nil, message.NotAllowed("store_full_at", strconv.Itoa(percent)+"%", "50%% to 100%%")
	}
	return &capacity{client: client, percent: percent, local: storeclock.New().Local}, nil
}

// take counts an accepted message with content bytes of content.
func (c *capacity) take(content int) { c.added.Add(int64(content) + messageOverhead) }

// refusal returns a *fault.UnavailableError if the store is too full for another message, otherwise
// nil. If the last check is old, the first caller repeats it, and the others use the old one.
// Before the first check, every caller makes one, so that none waits for another.
func (c *capacity) refusal(ctx context.Context) error {
	known := c.current.Load()
	if known == nil {
		return c.look(ctx, nil)
	}
	if !c.old(known) || !c.looking.TryLock() {
		return known.refusal
	}
	defer c.looking.Unlock()
	if seen := c.current.Load(); seen != known {
		return seen.refusal // another caller was quicker
	}
	return c.look(ctx, known)
}

// old reports whether to check again: after followEvery, or when this process has used a quarter
// of the room. Other processes may have used as much.
func (c *capacity) old(known *fullness) bool {
	return c.local().Sub(known.looked) >= followEvery || known.refusal == nil && c.added.Load() > known.room/4
}

// StoreFull returns a *fault.UnavailableError if the store is too full for other new data, such as
// a device of size bytes, and otherwise nil.
func (s *Submitter) StoreFull(ctx context.Context, size int) error {
	err := s.capacity.refusal(ctx)
	if err == nil {
		s.capacity.take(size)
	}
	return err
}

func (c *capacity) look(ctx context.Context, known *fullness) error {
	fresh := &fullness{looked: c.local(), room: math.MaxInt64}
	c.added.Store(0)
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	servers, err := store.ReadMemory(ctx, c.client)
	fullest, evicting := fullestOf(servers), store.RefuseEviction(servers...)
	switch {
	case evicting != nil:
		fresh.refusal = evicting
	case fullest.FullAt(c.percent):
		fresh.refusal = c.storeFull(fullest)
	case err != nil && known != nil:
		// The server that did not answer may be the full one, or the one that evicts.
		fresh.refusal, fresh.room = known.refusal, known.room
	case fullest.Max > 0:
		fresh.room = fullest.Max*int64(c.percent)/100 - fullest.Used
	}
	c.current.Store(fresh)
	return fresh.refusal
}

// fullestOf returns the server that is nearest to its limit, the zero value without a limit.
func fullestOf(servers []store.Memory) store.Memory {
	var fullest store.Memory
	share := func(m store.Memory) float64 { return float64(m.Used) / float64(max(m.Max, 1)) }
	for _, m := range servers {
		if m.Max > 0 && (fullest.Max == 0 || share(m) > share(fullest)) {
			fullest = m
		}
	}
	return fullest
}

func (c *capacity) storeFull(m store.Memory) error {
	server := "Redis"
	if m.Address != "" {
		server += " at " + m.Address
	}
	const megabyte = 1 << 20
	return &fault.UnavailableError{
		Full: true, Internal: true,
		Detail: fmt.Sprintf("%s is %d %% full (%.1f of %.1f MB), and takes no more messages from %d %% on (store_full_at),"+
			" so that those it has can be delivered: raise its maxmemory, or wait until messages are delivered and their records expire",
			server, m.Used*100/m.Max, float64(m.Used)/megabyte, float64(m.Max)/megabyte, c.percent),
	}
}
