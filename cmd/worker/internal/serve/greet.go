package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
)

// greet describes the embedded store and the next steps: in sentences for a person, otherwise as
// one line of the log. The API is at base.
func greet(ctx context.Context, p cli.Program, base string, c config.Config, logger *slog.Logger) error {
	try := tryNext(p.Names, base, asksForKeys(c))
	if !logsText(p.Stderr, c) {
		logger.WarnContext(ctx, "started the embedded store, whose data is lost when this worker ends",
			"meant_for_pending", store.EmbeddedCapacity, "try", try)
		return nil
	}
	_, err := fmt.Fprintf(p.Stderr, `
Started the embedded store. Its data is lost when this worker ends,
and it is meant for up to 10,000 pending messages.

Try next, in another terminal: a delivery, and a refusal.

  %s
  %s

`, try[0], try[1])
	if err != nil {
		return fmt.Errorf("saying what to do next: %w", err)
	}
	return nil
}

// tryNext returns a submit that is accepted, and one that the default rules refuse after it.
func tryNext(names cli.Names, base string, withKey bool) [2]string {
	command := names.Spell("sendlimit push --user alice")
	if withKey {
		command = "SENDLIMIT_API_KEY=sk_… " + command
	}
	if base != "http://"+config.DefaultListen {
		command = "SENDLIMIT_API=" + base + " " + command
	}
	return [2]string{command + ` --at +10s --title "Hello"`, command + ` --at +30s --title "Too soon"`}
}
