package submit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/stats"
)

// settler settles the charges of accepted messages, and writes down what was
// counted of them: many in one round trip and without anybody waiting for it.
// What it does not get to settle the relay settles.
type settler struct {
	charges *quota.Charges
	stats   *stats.Stats
	raised  func(context.Context, []string) // is told which notices were
	logger  *slog.Logger
	made    chan quota.Settlement
	done    sync.WaitGroup

	mu     sync.RWMutex // over closed: no send on a closed channel
	closed bool
}

const (
	settleTogether    = 256
	settleBacklog     = 8192
	settleBatchWithin = 5 * time.Second
)

func newSettler(
	charges *quota.Charges, stats *stats.Stats, raised func(context.Context, []string), logger *slog.Logger,
) *settler {
	s := &settler{
		charges: charges, stats: stats, raised: raised, logger: logger, made: make(chan quota.Settlement, settleBacklog),
	}
	s.done.Go(s.run)
	return s
}

// add settles the charge of a change that was made, as soon as there is time.
func (s *settler) add(h sendlimit.Hold) {
	s.put(quota.Settlement{Account: h.Account, Attempt: h.Attempt, Made: true})
}

// counted has the numbers written that were counted by now.
func (s *settler) counted() { s.put(quota.Settlement{}) }

func (s *settler) put(one quota.Settlement) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	select {
	case s.made <- one:
	default: // the backlog is full: the relay settles it
	}
}

func (s *settler) run() {
	batch := make([]quota.Settlement, 0, settleTogether)
	for one := range s.made {
		batch = batch[:0]
		for more := true; more; {
			if one.Attempt != "" {
				batch = append(batch, one)
			}
			if len(batch) == settleTogether {
				break
			}
			select {
			case one, more = <-s.made:
			default:
				more = false
			}
		}
		if !s.settle(batch) && s.closing() {
			return // nobody waits at the end of a program for a store that does not answer
		}
	}
}

// settle settles a batch, and reports whether it could.
func (s *settler) settle(batch []quota.Settlement) bool {
	ctx, cancel := context.WithTimeout(context.Background(), settleBatchWithin)
	defer cancel()
	if len(batch) > 0 {
		notices, err := s.charges.Settle(ctx, time.Time{}, batch...)
		s.raised(ctx, notices)
		if err != nil {
			s.logger.WarnContext(ctx, "could not settle charges: they will be looked after", "charges", len(batch), "error", err)
			return false
		}
	}
	if err := s.stats.Flush(ctx); err != nil {
		s.logger.WarnContext(ctx, "could not write an account's numbers: they are kept for the next time", "error", err)
		return false
	}
	return true
}

func (s *settler) closing() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// close settles what is left and ends.
func (s *settler) close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.made)
	}
	s.mu.Unlock()
	s.done.Wait()
}
