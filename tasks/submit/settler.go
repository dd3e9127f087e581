package submit

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/records/stats"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
)

// settler settles the charges of accepted messages and writes the numbers of their
// accounts, many in one round trip. Nobody waits for it. The relay settles the charges
// that the settler misses.
type settler struct {
	charges *quota.Charges
	stats   *stats.Stats
	raised  func(ctx context.Context, notices []string) // receives the raised notices
	logger  *slog.Logger
	settled *batch.Loop[quota.Settlement]
}

// newSettler returns a settler that works until close.
func newSettler(
	charges *quota.Charges, stats *stats.Stats, raised func(context.Context, []string), logger *slog.Logger,
) *settler {
	// An accepted message adds up to two items: its charge and writeCounted.
	const together, backlog, within = 512, 8192, 5 * time.Second
	s := &settler{charges: charges, stats: stats, raised: raised, logger: logger}
	s.settled = batch.NewLoop(batch.Options{Together: together, Backlog: backlog, Within: within}, s.settle)
	s.settled.Start()
	return s
}

// add settles the charge of a change that was made, soon.
func (s *settler) add(h sendlimit.Hold) {
	s.settled.Add(settlementOf(h, true))
}

// writeCounted writes the numbers counted so far, soon.
func (s *settler) writeCounted() { s.settled.Add(quota.Settlement{}) }

// settle settles a batch, writes the counted numbers, and reports whether it could.
func (s *settler) settle(ctx context.Context, batch []quota.Settlement) bool {
	batch = slices.DeleteFunc(batch, func(one quota.Settlement) bool { return one.Attempt == "" })
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

// close settles the remaining charges and stops.
func (s *settler) close() { s.settled.Close() }
