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
		Use: "stats", Short: "Show the number of pending messages, and the state of queue and store.",
		Long: "Show how many messages are pending, the tasks in the queue, how many messages were\n" +
			"given up, how late the schedule is, and how much memory the store uses. The metrics\n" +
			"of a worker show more. Without --api and --redis-url, the last line names the worker\n" +
			"that answered.",
		Example: "  sendlimit-worker stats --json",
	}
	g := operations.NewView(p, cmd)
	cmd.RunE = g.Run(func(ctx context.Context, c *client.Client, _ []string) error {
		now, err := c.Stats(ctx)
		return operations.Answer(g, now, err, func(s client.Stats) string { return statsText(s) + g.Asked() })
	})
	return cmd
}

// statsText describes the stats for a person.
func statsText(s client.Stats) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", cli.FormatCount(s.Pending, "pending message", "pending messages"))
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
