package groups

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Pace returns the group "sendlimit-worker pace".
func Pace(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use: "pace", Short: "Show or change how fast all workers together deliver.",
		Long: "Show or change how fast all workers together deliver: messages through all\n" +
			"channels, or pushes through one channel with --channel. The pace is in the store\n" +
			"of REDIS_URL, or the embedded one of a running worker. Workers follow a change\n" +
			"within 2 seconds, even for waiting messages. A message that the pace makes late is\n" +
			"judged like every late message. After a time without deliveries, the rate rises\n" +
			"to the full one over pace.ramp.",
		Example: "  sendlimit-worker pace set --rate 100/second --burst 20\n" +
			"  sendlimit-worker pace set --channel fcm --rate 10000/second\n" +
			"  sendlimit-worker pace show --json\n" +
			"  sendlimit-worker pace clear",
	}
	g := operations.NewGroup(p, group)
	var channel string
	group.PersistentFlags().StringVar(&channel, "channel", "", "pace of one `channel`, such as fcm; default: of all messages")

	var pace client.PaceDraft
	set := &cobra.Command{
		Use: "set --rate RATE [--burst N]", Short: "Set or replace the pace.",
		Long: "Set or replace the pace. No interval of the rate, such as a second, has more deliveries\n" +
			"than the rate allows. With a burst, at most so many deliveries start at once, and\n" +
			"the others follow one by one. Without a burst, all deliveries of an interval may\n" +
			"start at once.",
		Example: "  sendlimit-worker pace set --rate 100/second\n  sendlimit-worker pace set --rate 6000/minute --burst 50",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case pace.Rate == "":
				return &cli.UsageError{Field: "rate", Detail: "--rate is required, such as --rate 100/second; sendlimit-worker pace clear removes the pace"}
			case cmd.Flags().Changed("burst") && pace.Burst == 0: // to the API it would be none
				return fault.Wrong("burst", "--burst must be at least 1; without it the burst is the rate")
			}
			return g.With(cmd, func(ctx context.Context, c *client.Client) error {
				now, err := c.SetPace(ctx, pace, client.SetPaceQuery{Channel: channel})
				return operations.Answer(g, now, err, paceText)
			})
		},
	}
	set.Flags().StringVar(&pace.Rate, "rate", "", "`rate` of deliveries: 100/second, 6000/minute, 20/500ms")
	set.Flags().Int64Var(&pace.Burst, "burst", 0, "`number` of deliveries that may start at once, at most the number of the rate")
	group.AddCommand(set, &cobra.Command{
		Use: "show", Short: "Show the pace, how fast the target accepts calls, and any pause that it requested.", Example: "  sendlimit-worker pace show --json",
		RunE: g.Run(func(ctx context.Context, c *client.Client, _ []string) error {
			now, err := c.Pace(ctx, client.PaceQuery{Channel: channel})
			return operations.Answer(g, now, err, paceText)
		}),
	}, &cobra.Command{
		Use: "clear", Short: "Remove the pace, and end a pause.", Example: "  sendlimit-worker pace clear",
		Long: "Remove the pace, end a pause that the target requested, and forget how fast it\n" +
			"accepts calls. A worker with a pace in its settings sets it again when it starts.",
		RunE: g.Run(func(ctx context.Context, c *client.Client, _ []string) error {
			now, err := c.ClearPace(ctx, client.ClearPaceQuery{Channel: channel})
			return operations.Answer(g, now, err, paceText)
		}),
	})
	return group
}

// paceText describes a pace for a person.
func paceText(p client.Pace) string {
	var s strings.Builder
	switch {
	case p.Rate == "":
		s.WriteString("no pace: deliveries are as fast as possible\n")
	case p.Burst == 0:
		fmt.Fprintf(&s, "%s over all workers\n", p.Rate)
	default:
		fmt.Fprintf(&s, "%s over all workers, at most %d at once\n", p.Rate, p.Burst)
	}
	if l := p.Learned; l != nil {
		s.WriteString(l.String() + "\n")
	}
	if p.PausedUntil != nil {
		fmt.Fprintf(&s, "paused until %s by the target\n", cli.FormatTime(p.PausedUntil.Time, time.UTC))
	}
	return s.String()
}
