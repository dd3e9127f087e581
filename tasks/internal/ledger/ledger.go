package ledger

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/stats"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Ledger counts single changes.
type Ledger struct {
	client redis.UniversalClient
	stats  *stats.Stats
	payers *payers.Payers
	logger *slog.Logger
}

// New returns a Ledger in the store behind client. The error is a *fault.InvalidError.
func New(client redis.UniversalClient, prefix string, logger *slog.Logger) (*Ledger, error) {
	numbers, err := stats.New(client, prefix)
	if err != nil {
		return nil, err
	}
	directory, err := accounts.New(client, prefix)
	if err != nil {
		return nil, err
	}
	return &Ledger{client: client, stats: numbers, payers: payers.New(directory, storeclock.New().Local), logger: logger}, nil
}

// Cancelled counts a message of an account, "" for none, that was cancelled now.
func (l *Ledger) Cancelled(ctx context.Context, account string) {
	l.count(ctx, account, l.stats.Cancelled)
}

// Retried counts a message of an account, "" for none, that was given up and waits again.
func (l *Ledger) Retried(ctx context.Context, account string) {
	l.count(ctx, account, l.stats.Retried)
}

// count only logs a failure: the change was made. What could not be written is written with
// the next change.
func (l *Ledger) count(ctx context.Context, account string, count func(string, *time.Location, time.Time)) {
	if account == "" {
		return
	}
	now, err := l.client.Time(ctx).Result()
	if err == nil {
		var payer payers.Payer
		if payer, err = l.payers.Charged(ctx, account); err == nil {
			count(account, payer.Zone, now)
			err = l.stats.Flush(ctx)
		}
	}
	if err != nil {
		l.logger.WarnContext(ctx, "could not count a message for the daily report", "error", store.Explain(err, "counting a message"))
	}
}
