package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/tracing"
)

// flushWithin bounds how long a worker that has stopped sends its last spans. A collector that
// is away must not hold it up.
const flushWithin = 5 * time.Second

// startTraces starts tracing if the environment says so, and logs where traces go.
func startTraces(ctx context.Context, p cli.Program, logger *slog.Logger) (*tracing.Tracing, error) {
	traces, err := tracing.Start(ctx, tracing.Program{Name: "sendlimit-worker", Version: cli.Version(), Getenv: p.Getenv}, logger)
	if err != nil {
		return nil, err
	}
	traces.Announce(ctx, logger)
	return traces, nil
}
