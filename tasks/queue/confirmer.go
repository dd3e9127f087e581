package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// confirmer notes in the watch list which messages the queue has, many in one
// round trip and without anybody waiting for it. What it does not get to note
// costs only a needless look: the watch list errs on the safe side.
type Confirmer struct {
	watch  *messages.WatchList
	logger *slog.Logger
	queued chan messages.Queued
	done   sync.WaitGroup

	mu     sync.RWMutex // over closed: no send on a closed channel
	closed bool
}

const (
	confirmTogether = 256
	confirmBacklog  = 8192
	confirmWithin   = 5 * time.Second
)

func NewConfirmer(watch *messages.WatchList, logger *slog.Logger) *Confirmer {
	c := &Confirmer{watch: watch, logger: logger, queued: make(chan messages.Queued, confirmBacklog)}
	c.done.Go(c.run)
	return c
}

// add notes one message as soon as there is time.
func (c *Confirmer) Add(q messages.Queued) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return
	}
	select {
	case c.queued <- q:
	default: // the backlog is full: the watch list looks after it
	}
}

func (c *Confirmer) run() {
	batch := make([]messages.Queued, 0, confirmTogether)
	for q := range c.queued {
		batch = append(batch[:0], q)
		for more := true; more && len(batch) < confirmTogether; {
			select {
			case q, more = <-c.queued:
				if more {
					batch = append(batch, q)
				}
			default:
				more = false
			}
		}
		if !c.confirm(batch) && c.closing() {
			return // nobody waits at the end of a program for a store that does not answer
		}
	}
}

// confirm notes a batch, and reports whether it could.
func (c *Confirmer) confirm(batch []messages.Queued) bool {
	ctx, cancel := context.WithTimeout(context.Background(), confirmWithin)
	defer cancel()
	if err := c.watch.Confirm(ctx, batch); err != nil {
		c.logger.WarnContext(ctx, "could not confirm queued messages: they will be looked after again",
			"messages", len(batch), "error", err)
		return false
	}
	return true
}

func (c *Confirmer) closing() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.closed
}

// close notes what is left and ends.
func (c *Confirmer) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.queued)
	}
	c.mu.Unlock()
	c.done.Wait()
}
