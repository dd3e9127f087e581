package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
)

// greet says what the embedded store is and what to do next: in sentences for a person,
// otherwise as one line of the log.
func greet(ctx context.Context, p cli.Program, address string, c config.Config, logger *slog.Logger) error {
	try := tryNext(p.Names, address)
	if !logsText(p.Stderr, c) {
		logger.WarnContext(ctx, "started the embedded store, which keeps nothing when this worker ends",
			"address", address, "meant_for_pending", store.EmbeddedCapacity, "try", try)
		return nil
	}
	_, err := fmt.Fprintf(p.Stderr, `
Started the embedded store at %s. It keeps nothing when this worker ends,
and is meant for up to 10,000 pending messages.

Try next, in another terminal: a delivery, and a time too close to it.

  %s
  %s

`, address, try[0], try[1])
	if err != nil {
		return fmt.Errorf("saying what to do next: %w", err)
	}
	return nil
}

// tryNext returns a submit that is accepted, and one that the default rules then refuse.
func tryNext(names cli.Names, address string) [2]string {
	command := names.Of("enqueue") + " push --user alice"
	if address != store.EmbeddedAddress {
		command = "REDIS_URL=redis://" + address + " " + command
	}
	return [2]string{command + ` --at +10s --title "Hello"`, command + ` --at +30s --title "Too soon"`}
}
