package report

import (
	"context"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/records/stats"
	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
)

// Tally counts what a worker does with accounts' messages, for the daily reports. It
// counts in memory and writes every second. A nil Tally counts nothing.
type Tally struct {
	stats   *stats.Stats
	payers  *payers.Payers
	logger  *slog.Logger
	counted *batch.Loop[counted]
	zones   map[string]*time.Location // the last known, by account
}

// counted is one counted message.
type counted struct {
	account string
	at      time.Time
	count   func(s *stats.Stats, account string, zone *time.Location, at time.Time)
}

// NewTally returns a Tally that writes to stats from Start until Close.
func NewTally(stats *stats.Stats, payers *payers.Payers, logger *slog.Logger) *Tally {
	t := &Tally{stats: stats, payers: payers, logger: logger, zones: make(map[string]*time.Location)}
	t.counted = batch.NewLoop(batch.Options{Every: time.Second, Within: 2 * time.Second}, t.write)
	return t
}

// Start starts writing counts.
func (t *Tally) Start() { t.counted.Start() }

// Close writes the remaining counts and stops.
func (t *Tally) Close() { t.counted.Close() }

// Sent counts a sent message of an account, "" for none.
func (t *Tally) Sent(account string, at time.Time, late bool) {
	t.add(account, at, func(s *stats.Stats, account string, zone *time.Location, at time.Time) {
		s.Sent(account, zone, at, late)
	})
}

// Dropped counts a message of an account, "" for none, that was too late to be sent.
func (t *Tally) Dropped(account string, at time.Time) {
	t.add(account, at, (*stats.Stats).Dropped)
}

// Failed counts a message of an account, "" for none, that was given up.
func (t *Tally) Failed(account string, at time.Time) {
	t.add(account, at, (*stats.Stats).Failed)
}

func (t *Tally) add(account string, at time.Time, count func(*stats.Stats, string, *time.Location, time.Time)) {
	if t != nil && account != "" {
		t.counted.Add(counted{account: account, at: at, count: count})
	}
}

// write sorts the counts into the days of the accounts' zones, and writes them. Counts
// that can't be written are kept for the next time.
func (t *Tally) write(ctx context.Context, batch []counted) bool {
	for _, one := range batch {
		one.count(t.stats, one.account, t.zone(ctx, one.account), one.at)
	}
	if err := t.stats.Flush(ctx); err != nil {
		t.logger.WarnContext(ctx, "could not write what was counted for daily reports: it is kept for the next time", "error", err)
		return false
	}
	return true
}

// zone returns an account's time zone: the last known if the store does not answer, else
// UTC.
func (t *Tally) zone(ctx context.Context, account string) *time.Location {
	if p, err := t.payers.Charged(ctx, account); err == nil {
		t.zones[account] = p.Zone
	}
	if zone := t.zones[account]; zone != nil {
		return zone
	}
	return time.UTC
}
