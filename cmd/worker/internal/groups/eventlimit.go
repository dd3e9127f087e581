package groups

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// eventsCounted lists the events that the API counts.
const eventsCounted = "  submit   requests that submit: a message, a dry run, or a batch\n" +
	"  read     requests that read (GET)\n" +
	"  change   all other requests, such as moves and cancels\n"

// EventLimit returns the group "sendlimit-worker event-limit".
func EventLimit(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use: "event-limit", Short: "Show or change how often an event may happen for each key.",
		Long: "Show or change how often an event may happen for each key: for example, how often\n" +
			"each account may submit. The limits are in the store and take effect immediately,\n" +
			"in every program. An event without limits may happen any number of times.\n\n" +
			"The API counts the requests of each account as these events, beside the limits of\n" +
			"its tier:\n\n" + eventsCounted +
			"\nOther events are for your own programs, which count them with package counters.\n\n" +
			"An event can have alerts: a mail or a webhook for each key that reaches a percent of\n" +
			"the limit of the longest period, which is the day if it has a limit.",
		Example: "  sendlimit-worker event-limit set submit --per-minute 60 --per-hour 100 --per-day 500\n" +
			"  sendlimit-worker event-limit set submit --per-day 500 --alert-at 80,100 --alert-to ops@example.com\n" +
			"  sendlimit-worker event-limit list",
	}
	g := operations.NewGroup(p, group)
	group.AddCommand(setEventLimit(g), &cobra.Command{
		Use: "list", Short: "List the events that have limits.", Example: "  sendlimit-worker event-limit list --json",
		RunE: g.Run(func(ctx context.Context, c *client.Client, _ []string) error {
			return operations.AnswerEach(g, c.ListEventLimits(ctx, client.ListEventLimitsQuery{}), eventLine,
				"No event has limits: see sendlimit-worker event-limit set.\n")
		}),
	}, &cobra.Command{
		Use: "show NAME", Short: "Show the limits of an event.", Example: "  sendlimit-worker event-limit show submit",
		Long: "Show the limits of an event. The exit status is 4 if it has none.",
		RunE: operations.One(g, (*client.Client).EventLimits, eventLine),
	}, &cobra.Command{
		Use: "remove NAME", Short: "Remove the limits of an event.", Example: "  sendlimit-worker event-limit remove submit",
		Long: "Remove the limits of an event. The exit status is 4 if it has none.",
		RunE: g.Run(func(ctx context.Context, c *client.Client, args []string) error {
			former, err := c.EventLimits(ctx, args[0])
			if err != nil {
				return err
			}
			removed, err := c.RemoveEventLimits(ctx, args[0])
			return operations.Answer(g, removed, err, func(client.EventLimitsRemoval) string {
				return fmt.Sprintf("%s: %s → no limit\nIt takes effect immediately.\n", former.Event, limitWords(former))
			})
		}),
	})
	return group
}

func setEventLimit(g *operations.Group) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set the limits and alerts of an event, and remove all others.",
		Long: "Set the limits of an event per natural minute, hour and day, and its alerts. Remove\n" +
			"all others. They take effect immediately, and counts are kept.\n\n" +
			"--alert-at and --alert-to raise an alert when a key reaches a percent of the limit of\n" +
			"the longest period: of --per-day if it is given, else of --per-hour, else of\n" +
			"--per-minute. Each percent alerts once for each key and period. If a call reaches\n" +
			"several, only the highest alerts. A limit lowered below the present count alerts\n" +
			"with the key's next call, and the percents of a raised limit alert again. An alert\n" +
			"goes to the --alert-to of the time when it is sent, and is dropped if there is none.\n\n" +
			"The API counts these events; another name needs --custom:\n\n" + eventsCounted,
		Example: "  sendlimit-worker event-limit set submit --per-minute 60 --per-hour 100 --per-day 500\n" +
			"  sendlimit-worker event-limit set read --per-hour 1000 --time-zone Europe/Berlin\n" +
			"  sendlimit-worker event-limit set submit --per-day 500 --alert-at 80,100 --alert-to ops@example.com\n" +
			"  sendlimit-worker event-limit set signup --per-hour 5 --custom",
	}
	flags := cmd.Flags()
	flags.Int64("per-minute", 0, "`number` of times in a natural minute")
	flags.Int64("per-hour", 0, "`number` of times in a natural hour")
	flags.Int64("per-day", 0, "`number` of times in a natural day")
	flags.String("alert-at", "", "`percents` of the limit of the longest period at which --alert-to is alerted, such as 80,100")
	flags.String("alert-to", "", "`contact` for the alerts: an e-mail address, or an https: URL that receives a POST")
	flags.Bool("custom", false, "accept an event that the API does not count, for your own program")
	flags.String("time-zone", "", "IANA `zone` of the hours and days, such as Europe/Berlin (default UTC)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		limited := false
		for _, name := range []string{"per-minute", "per-hour", "per-day"} {
			flag := flags.Lookup(name)
			if limited = limited || flag.Changed; flag.Changed && flag.Value.String() == "0" { // to the API it would be no limit
				return &fault.InvalidError{
					Field: strings.ReplaceAll(name, "-", "_"), Value: "0", Want: fmt.Sprintf("1 to %d; leave it out for no limit", counters.MaxLimit),
				}
			}
		}
		if !limited {
			return cli.Usage(cmd, "per_minute",
				"at least one of --per-minute, --per-hour and --per-day is required (sendlimit-worker event-limit remove removes all limits)")
		}
		var limits client.EventLimitsDraft
		if _, err := operations.Fill(flags, &limits); err != nil {
			return err
		}
		return g.With(cmd, func(ctx context.Context, c *client.Client) error {
			before := "no limit"
			former, err := c.EventLimits(ctx, args[0])
			if err == nil {
				before = limitWords(former)
			} else if !errors.Is(err, client.ErrNotFound) {
				return err
			}
			now, err := c.SetEventLimits(ctx, args[0], limits)
			return operations.Answer(g, now, err, func(now client.EventLimits) string {
				return fmt.Sprintf("%s: %s → %s\nIt takes effect immediately; counts are kept.\n", args[0], before, limitWords(now))
			})
		})
	}
	return cmd
}

func eventLine(e client.EventLimits) string { return e.Event + ": " + limitWords(e) + "\n" }

// limitWords returns the limits of an event in words.
func limitWords(e client.EventLimits) string {
	limits := counters.EventLimits{
		PerMinute: e.PerMinute, PerHour: e.PerHour, PerDay: e.PerDay, TimeZone: e.TimeZone, AlertAt: e.AlertAt, AlertTo: e.AlertTo,
	}
	if e.TimeZone == "UTC" {
		limits.TimeZone = ""
	}
	return limits.String()
}
