package relay

import (
	"context"
	"errors"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// rewriteLog asks a Redis that has started to rewrite its log, see store.RewriteLogs. A Redis that
// does not let this program ask is warned of once.
func (r *Relay) rewriteLog(ctx context.Context) error {
	asked, err := r.Rewrite(ctx)
	if asked > 0 {
		r.Logger.InfoContext(ctx, "Redis has started: it rewrites its append-only file, which may end within a transaction", "servers", asked)
	}
	if errors.Is(err, store.ErrNoRewrite) {
		if r.mayNotRewrite {
			return nil
		}
		r.mayNotRewrite = true
	}
	return err
}
