package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
)

// heldBack is the reason why a worker does not deliver: the store was last delivered under another
// address. It may be a copy, whose original is delivered too.
type heldBack struct {
	former, configured redisstore.Address
}

// takeAddress marks the store as delivered under the address of the settings. If it was last
// delivered under another one, it does so only with takeOver, and otherwise returns the reason to
// hold back. The embedded store starts empty, and has no address.
func takeAddress(
	ctx context.Context, client redis.Cmdable, c config.Config, takeOver bool, logger *slog.Logger,
) (*heldBack, error) {
	if c.RedisURL == "" {
		return nil, nil
	}
	address, err := store.AddressOf(c.RedisURL)
	if err != nil {
		return nil, err
	}
	former, taken, err := redisstore.TakeAddress(ctx, client, keyspace.KeysUnder(c.Prefix), address, takeOver)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the store's deliveries: %w", err)
	}
	if !taken {
		return &heldBack{former: former, configured: address}, nil
	}
	if !former.SameStore(address) {
		logger.WarnContext(ctx, "took over a store that was last delivered under another address",
			"last_address", former.String(), "address", address.String())
	}
	return nil, nil
}

// tell explains at the start that the worker does not deliver, and what to do: in a line of the
// log, and for a person also in sentences.
func (h *heldBack) tell(ctx context.Context, p cli.Program, c config.Config, logger *slog.Logger) error {
	logger.ErrorContext(ctx, "nothing is delivered: the store was last delivered under another address",
		"last_address", h.former.String(), "address", h.configured.String(), "next", whatNext)
	if !logsText(p.Stderr, c) {
		return nil
	}
	run := p.Names.Spell("sendlimit-worker run")
	_, err := fmt.Fprintf(p.Stderr, `
This worker serves the API and delivers nothing: its store was last delivered
as %s, and redis_url is %s now.

  The store has moved, or has another name:  %s --store-moved
  It was restored from a backup:             %s --drop-due-before TIME
  It is a copy, and the original delivers:   do nothing, or both send everything

`, h.former, h.configured, run, run)
	if err != nil {
		return fmt.Errorf("saying why nothing is delivered: %w", err)
	}
	return nil
}

// unready returns the reason why the worker is not ready.
func (h *heldBack) unready() error {
	return &fault.UnavailableError{Internal: true, Detail: fmt.Sprintf(
		"nothing is delivered: the store was last delivered as %s, and redis_url says %s: %s", h.former, h.configured, whatNext)}
}

const whatNext = "if it has moved, or has another name, start a worker with --store-moved, then the others;" +
	" if it was restored from a backup, start each with --drop-due-before TIME;" +
	" if it is a copy whose original is delivered, do nothing, or set deliver to false"
