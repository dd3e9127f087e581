package serve

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// refuseEmpty returns a *fault.UnavailableError if no worker has ever started on a store, which
// therefore was not restored.
func refuseEmpty(ctx context.Context, client redis.Cmdable, prefix string) error {
	layout, err := redisstore.PresentLayout.Read(ctx, client, keyspace.KeysUnder(prefix))
	if err != nil {
		return fmt.Errorf("looking at the layout of the store: %w", err)
	}
	if layout != 0 {
		return nil
	}
	return &fault.UnavailableError{Unfit: true, Detail: fmt.Sprintf(
		"the store has no data under the prefix %s, although --%s says that it was restored: a Redis with appendonly yes does not load"+
			" an RDB file, so restore it as in docs/restore.md; to start with an empty store, leave out --%s", prefix, dropFlag, dropFlag)}
}

// raiseLayout raises the layout of a store from a former version to the present one. While a worker
// of that version runs it returns a *fault.UnavailableError, as that worker would misread what this
// one writes. Such a worker that starts later refuses the store.
func raiseLayout(ctx context.Context, client redis.UniversalClient, prefix string, needed redisstore.Layout, logger *slog.Logger) error {
	layout, err := needed.Read(ctx, client, keyspace.KeysUnder(prefix))
	if err != nil {
		return fmt.Errorf("looking at the layout of the store: %w", err)
	}
	if layout == 0 || layout == needed {
		return nil
	}
	running, err := queue.Workers(client, prefix)
	if err != nil {
		return err
	}
	if len(running) > 0 {
		return &fault.UnavailableError{Detail: fmt.Sprintf(
			"the store has layout %d, and workers of a former version use it, which can't read layout %d: stop them first;"+
				" if they were killed, wait 10 seconds: %s", layout, needed, strings.Join(running, ", "))}
	}
	if err := needed.Raise(ctx, client, keyspace.KeysUnder(prefix)); err != nil {
		return fmt.Errorf("raising the layout of the store: %w", err)
	}
	logger.InfoContext(ctx, "raised the layout of the store: older programs refuse it from now on",
		"from", layout, "to", needed)
	return nil
}
