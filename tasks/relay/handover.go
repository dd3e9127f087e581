package relay

import (
	"context"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// collected has the messages of a round, from several goroutines: those that are due together share
// a task.
type collected struct {
	mu       sync.Mutex
	messages []sendlimit.Timer
}

func (c *collected) add(found []sendlimit.Timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, found...)
}

func (c *collected) take() []sendlimit.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.messages
	c.messages = nil
	return taken
}

// A pass hands over only as many messages as the store has room for: in a full store nothing can be
// delivered, and only deliveries make room.
const (
	fillTo     = 92   // percent of the store's maxmemory, more than submits fill
	taskBytes  = 2000 // at most, with a long user and id
	leastAPass = 10   // however full the store is
)

// share takes room for entries. It returns those that got room, and the others.
func share(part []sendlimit.Timer, room *atomic.Int64) (fits, left []sendlimit.Timer) {
	n := int64(len(part))
	n = max(0, min(n, room.Add(-n)+n))
	return slices.Clone(part[:n]), part[n:]
}

// room returns how many messages a pass may hand over.
func (r *Relay) room(ctx context.Context) *atomic.Int64 {
	servers, _ := store.ReadMemory(ctx, r.Client) // without those that do not answer
	room := int64(math.MaxInt32)
	for _, m := range servers {
		if m.Max > 0 {
			room = min(room, max(leastAPass, (m.Max/100*fillTo-m.Used)/taskBytes))
		}
	}
	left := new(atomic.Int64)
	left.Store(room)
	return left
}

// byPartition splits due entries into parts for HandOver: entries of one partition, the oldest
// first.
func byPartition(due []sendlimit.Timer) iter.Seq[[]sendlimit.Timer] {
	return func(yield func([]sendlimit.Timer) bool) {
		parts := make(map[int][]sendlimit.Timer)
		for _, entry := range due { // a full part has the oldest entries, and goes first
			partition := keyspace.Partition(entry.User)
			parts[partition] = append(parts[partition], entry)
			if len(parts[partition]) == messages.MaxHandedOver {
				if !yield(parts[partition]) {
					return
				}
				delete(parts, partition)
			}
		}
		for _, part := range parts {
			if !yield(part) {
				return
			}
		}
	}
}

// tellBehind warns when a hand-over is so far behind that messages may become late.
func (r *Relay) tellBehind(ctx context.Context, oldest time.Duration) {
	behind := oldest > r.Watch.Horizon()/2
	if behind && !r.behind {
		r.Logger.WarnContext(ctx, "messages are handed over to the queue late: no worker did it in time, or there is more than"+
			" the workers can do", "behind", oldest.Round(time.Second), "horizon", r.Watch.Horizon())
	}
	r.behind = behind
}
