package groups

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
)

// Stats returns the command "sendlimit-worker stats".
func Stats(p cli.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats", Short: "Show how many messages wait, and how the queue and the store are doing.",
		Long: "Show how many messages have not ended, what is in the queue, how many were given\n" +
			"up, how late the schedule is, and how much memory the store uses. The metrics of a\n" +
			"worker say more. The last line names the worker that was asked, if --api and\n" +
			"--redis-url name none.",
		Example: "  sendlimit-worker stats --json",
	}
	g := operations.NewView(p, cmd)
	cmd.RunE = g.Run(func(ctx context.Context, c *client.Client, _ []string) error {
		now, err := c.Stats(ctx)
		return operations.Answer(g, now, err, func(s client.Stats) string { return statsText(s) + g.Asked() })
	})
	return cmd
}

// statsText returns the stats for a person.
func statsText(s client.Stats) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s to come\n", cli.FormatCount(s.Pending, "message", "messages"))
	var states []string
	for _, state := range []string{"scheduled", "pending", "active", "retry", "archived"} {
		if n := s.Queue[state]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, state))
		}
	}
	fmt.Fprintf(&text, "queue: %s\n", cmp.Or(strings.Join(states, ", "), "empty"))
	fmt.Fprintf(&text, "given up: %s, %s\n",
		cli.FormatCount(s.DeadLetters, "message", "messages"), cli.FormatCount(s.FailedAlerts, "alert", "alerts"))
	if s.OldestOverdueSeconds > 0 {
		fmt.Fprintf(&text, "the schedule is %.3f seconds behind\n", s.OldestOverdueSeconds)
	} else {
		text.WriteString("the schedule is not behind\n")
	}
	for _, server := range s.Store {
		fmt.Fprintf(&text, "%s uses %s of memory%s\n", cmp.Or(server.Server, "the store"), megabytes(server.UsedBytes), limitOf(server.MaxBytes))
	}
	return text.String()
}

func limitOf(most int64) string {
	if most == 0 {
		return ""
	}
	return " of " + megabytes(most)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
