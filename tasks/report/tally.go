package report

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/stats"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
)

// tally counts for the daily reports what a worker does with accounts' messages.
// Counting is in memory; every second what was counted is written, without
// anybody waiting for it. A nil tally counts nothing.
type Tally struct {
	stats  *stats.Stats
	payers *payers.Payers
	logger *slog.Logger

	mu      sync.Mutex
	counted []tallied
	zones   map[string]*time.Location // as they were last known

	stop chan struct{}
	done sync.WaitGroup
}

// tallied is one thing that was counted.
type tallied struct {
	account string
	at      time.Time
	what    func(s *stats.Stats, account string, zone *time.Location, at time.Time)
}

const (
	tallyEvery  = time.Second
	tallyWithin = 2 * time.Second
)

func NewTally(stats *stats.Stats, payers *payers.Payers, logger *slog.Logger) *Tally {
	return &Tally{stats: stats, payers: payers, logger: logger, zones: make(map[string]*time.Location), stop: make(chan struct{})}
}

// start writes what is counted every second, until close; the end of ctx ends
// nothing.
func (t *Tally) Start(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	t.done.Go(func() {
		tick := time.NewTicker(tallyEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.flush(ctx)
			case <-t.stop:
				t.flush(ctx)
				return
			}
		}
	})
}

// close writes what is left.
func (t *Tally) Close() {
	close(t.stop)
	t.done.Wait()
}

// sent counts a message of an account, "" for none, that was sent.
func (t *Tally) Sent(account string, at time.Time, late bool) {
	t.add(account, at, func(s *stats.Stats, account string, zone *time.Location, at time.Time) {
		s.Sent(account, zone, at, late)
	})
}

// dropped counts a message of an account, "" for none, that ended unsent.
func (t *Tally) Dropped(account string, at time.Time) {
	t.add(account, at, (*stats.Stats).Dropped)
}

func (t *Tally) add(account string, at time.Time, what func(*stats.Stats, string, *time.Location, time.Time)) {
	if t == nil || account == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counted = append(t.counted, tallied{account: account, at: at, what: what})
}

// flush sorts what was counted into the days of the accounts' zones, and writes
// it. What it can't write is kept for the next time.
func (t *Tally) flush(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, tallyWithin)
	defer done()
	t.mu.Lock()
	counted := t.counted
	t.counted = nil
	t.mu.Unlock()
	for _, one := range counted {
		one.what(t.stats, one.account, t.zone(ctx, one.account), one.at)
	}
	if err := t.stats.Flush(ctx); err != nil {
		t.logger.WarnContext(ctx, "could not write what was counted for daily reports: it is kept for the next time", "error", err)
	}
}

// zone is an account's: as it was last known where the store does not say.
func (t *Tally) zone(ctx context.Context, account string) *time.Location {
	if p, err := t.payers.Whatever(ctx, account); err == nil {
		t.zones[account] = p.Zone
	}
	if zone := t.zones[account]; zone != nil {
		return zone
	}
	return time.UTC
}
