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

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// DefaultStoreFullAt is how full the store may get, in percent of its
// maxmemory, before nothing more is accepted. What is left is for the
// deliveries of what was: in a store that is quite full nothing moves.
const DefaultStoreFullAt = 85

// followEvery is how old what a process knows of the store's fullness may get.
const followEvery = 2 * time.Second

// lookWithin bounds a look at how full the store is. It is a caller who waits
// for it, and a store that does not answer is for the script to say.
const lookWithin = 500 * time.Millisecond

// messageOverhead is about what a message takes in the store beside its
// content, bytes: rather too much, as it says when to look again.
const messageOverhead = 2 << 10

// capacity follows how full the store is: whoever asks goes by what is at most
// followEvery old, and less where much has been submitted since, so that a fast
// submitter does not fill a small store between two looks.
type capacity struct {
	client  redis.UniversalClient
	percent int
	local   func() time.Time

	looking sync.Mutex
	current atomic.Pointer[fullness]
	added   atomic.Int64 // since the last look, about, bytes
}

// fullness is what a look has found.
type fullness struct {
	refusal error // nil where there is room
	room    int64 // bytes until there is none
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

// take notes that a message was accepted, with so many bytes of content.
func (c *capacity) take(content int) { c.added.Add(int64(content) + messageOverhead) }

// refusal returns the *sendlimit.UnavailableError of a store that is too full
// for another message, otherwise nil. The first caller who finds the last look
// old looks again; others go by it meanwhile. Where there was none yet every
// caller looks, so that none waits for another.
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

// old says whether to look again: after a while, or when this process alone has
// taken a fourth of the room there was. Others may have taken as much.
func (c *capacity) old(known *fullness) bool {
	return c.local().Sub(known.looked) >= followEvery || known.refusal == nil && c.added.Load() > known.room/4
}

func (c *capacity) look(ctx context.Context, known *fullness) error {
	fresh := &fullness{looked: c.local(), room: math.MaxInt64}
	c.added.Store(0)
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	servers, err := store.ReadMemory(ctx, c.client)
	fullest := fullestOf(servers)
	switch {
	case fullest.FullAt(c.percent):
		fresh.refusal = c.storeFull(fullest)
	case err != nil && known != nil:
		// The server that did not answer may be the one.
		fresh.refusal, fresh.room = known.refusal, known.room
	case fullest.Max > 0:
		fresh.room = fullest.Max*int64(c.percent)/100 - fullest.Used
	}
	c.current.Store(fresh)
	return fresh.refusal
}

// fullestOf is the server that is nearest to its limit; the zero value where none
// has one.
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
		Full: true,
		Detail: fmt.Sprintf("%s is %d %% full (%.1f of %.1f MB), and takes no more messages from %d %% on (store_full_at),"+
			" so that those it has can be delivered: raise its maxmemory, or wait until messages are delivered and their records expire",
			server, m.Used*100/m.Max, float64(m.Used)/megabyte, float64(m.Max)/megabyte, c.percent),
	}
}
