package groups

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
)

// Sending returns the group "sendlimit-worker sending".
func Sending(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use: "sending", Short: "Stop all sending, start it again, or show whether it is stopped.",
		Long: "Stop all sending, start it again, or show whether it is stopped. While it is, no\n" +
			"worker of the store begins a delivery. Messages are accepted, refused and judged as\n" +
			"always. Due ones wait without an attempt, and end at their expiry. When sending\n" +
			"goes on, the late ones are judged: the rules hold, and their order is kept. Alerts,\n" +
			"reports and events are sent on.",
		Example: "  sendlimit-worker sending stop --reason \"wrong text in the campaign spring\"\n" +
			"  sendlimit-worker sending status\n" +
			"  sendlimit-worker sending start",
	}
	g := operations.NewGroup(p, group)
	var draft client.SendingStopDraft
	stop := &cobra.Command{
		Use: "stop --reason TEXT", Short: "Stop all sending.",
		Long: "Stop all sending: 2 seconds later no worker begins another delivery, until you run\n" +
			"sendlimit-worker sending start. Calls to providers that have begun end as always.\n" +
			"If it is stopped already, nothing changes.",
		Example: "  sendlimit-worker sending stop --reason \"wrong text in the campaign spring\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if draft.Reason == "" {
				return &cli.UsageError{Field: "reason", Detail: "--reason is required: operators see it until sending is started"}
			}
			return g.With(cmd, func(ctx context.Context, c *client.Client) error {
				answer, err := c.StopSending(ctx, draft)
				return operations.Answer(g, answer, err, func(a client.SendingChange) string {
					if a.Outcome == message.SendingAlreadyStopped {
						return "nothing changed: " + sendingText(a.Sending)
					}
					return sendingText(a.Sending)
				})
			})
		},
	}
	stop.Flags().StringVar(&draft.Reason, "reason", "", "why, for other operators: a `text` of at most 500 bytes")
	group.AddCommand(stop, &cobra.Command{
		Use: "start", Short: "Start all sending again.", Example: "  sendlimit-worker sending start",
		RunE: g.Run(func(ctx context.Context, c *client.Client, _ []string) error {
			answer, err := c.StartSending(ctx)
			return operations.Answer(g, answer, err, func(a client.SendingChange) string {
				if a.Outcome == message.SendingAlreadyRunning {
					return "nothing changed: sending is not stopped\n"
				}
				return "sending goes on: late messages go out as the rules allow\n"
			})
		}),
	}, &cobra.Command{
		Use: "status", Short: "Show whether all sending is stopped, by whom, since when and why.", Example: "  sendlimit-worker sending status --json",
		RunE: g.Run(func(ctx context.Context, c *client.Client, _ []string) error {
			now, err := c.Sending(ctx)
			return operations.Answer(g, now, err, sendingText)
		}),
	})
	return group
}

// sendingText describes whether all sending is stopped.
func sendingText(s client.Sending) string {
	if s.State == message.SendingRunning {
		return "sending is not stopped\n"
	}
	return fmt.Sprintf("all sending is stopped since %s by %s: %s\n", cli.FormatTime(s.Since.Time, time.UTC), s.By, s.Reason)
}
