package submit

import (
	"context"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
)

// settler settles the charges of accepted messages in the background, many in one round trip. The
// relay settles the charges that it misses.
type settler struct {
	charges *quota.Charges
	raised  func(ctx context.Context, notices []string) // receives the raised notices
	logger  *slog.Logger
	settled *batch.Loop[quota.Settlement]
}

// newSettler returns a settler that works until close.
func newSettler(charges *quota.Charges, raised func(context.Context, []string), logger *slog.Logger) *settler {
	const together, backlog, within, gathered = 512, 8192, 5 * time.Second, 5 * time.Millisecond
	s := &settler{charges: charges, raised: raised, logger: logger}
	s.settled = batch.NewLoop(batch.Options{Together: together, Backlog: backlog, Within: within, Gather: gathered}, s.settle)
	s.settled.Start()
	return s
}

// add queues the charge of a completed change for settlement.
func (s *settler) add(h sendlimit.Hold) {
	s.settled.Add(settlementOf(h, true))
}

// settle settles a batch, and reports whether it could.
func (s *settler) settle(ctx context.Context, batch []quota.Settlement) bool {
	notices, err := s.charges.Settle(ctx, time.Time{}, batch...)
	s.raised(ctx, notices)
	if err != nil {
		s.logger.WarnContext(ctx, "could not settle charges: they will be looked after", "charges", len(batch), "error", err)
		return false
	}
	return true
}

// close settles the remaining charges and stops.
func (s *settler) close() { s.settled.Close() }
