package eventlimit

import (
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

// Command returns the group "worker event-limit".
func Command(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use:   "event-limit",
		Short: "Show or change how often an event may happen for each key.",
		Long: "Show or change how often an event may happen for each key: for example, how often\n" +
			"each account may submit. The limits are in the store and take effect immediately,\n" +
			"in every program. An event without limits may happen any number of times.\n\n" +
			"The API counts the requests of each account as these events, beside the limits of\n" +
			"its tier:\n\n" + eventsCounted +
			"\nOther events are for programs of your own that count them, with package counters.\n\n" +
			"An event can have alerts: a mail or a webhook for each key that reaches a percent of\n" +
			"the limit of the longest period, which is the day if it has a limit.",
		Example: "  worker event-limit set submit --per-minute 60 --per-hour 100 --per-day 500\n" +
			"  worker event-limit set submit --per-day 500 --alert-at 80,100 --alert-to ops@example.com\n" +
			"  worker event-limit list",
	}
	g := operations.NewGroup(p, group)
	group.AddCommand(setCommand(g), &cobra.Command{
		Use:     "list",
		Short:   "List the events that have limits.",
		Example: "  worker event-limit list --json",
		Args:    cli.NoArguments,
		RunE: g.Run(func(cmd *cobra.Command, _ []string, c *client.Client) error {
			return operations.AnswerEach(g, c.ListEventLimits(cmd.Context(), client.ListEventLimitsQuery{}), line,
				"No event has limits: worker event-limit set NAME gives it some.\n")
		}),
	}, &cobra.Command{
		Use:     "show NAME",
		Short:   "Show the limits of an event.",
		Long:    "Show the limits of an event. The exit status is 4 if it has none.",
		Example: "  worker event-limit show submit",
		Args:    cli.Argument("NAME"),
		RunE: g.Run(func(cmd *cobra.Command, args []string, c *client.Client) error {
			event, err := c.EventLimits(cmd.Context(), args[0])
			return operations.Answer(g, event, err, line)
		}),
	}, &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove the limits of an event.",
		Long:    "Remove the limits of an event. The exit status is 4 if it has none.",
		Example: "  worker event-limit remove submit",
		Args:    cli.Argument("NAME"),
		RunE: g.Run(func(cmd *cobra.Command, args []string, c *client.Client) error {
			former, err := c.EventLimits(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			removed, err := c.RemoveEventLimits(cmd.Context(), args[0])
			return operations.Answer(g, removed, err, func(client.EventLimitsRemoval) string {
				return fmt.Sprintf("%s: %s → no limit\nIt applies from the next call on.\n", former.Event, words(former))
			})
		}),
	})
	return group
}

func setCommand(g *operations.Group) *cobra.Command {
	var limits client.EventLimitsDraft
	var alertAt string
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Set the limits and alerts of an event, and remove those not given.",
		Long: "Set the limits of an event per natural minute, hour and day, and its alerts. Remove\n" +
			"those not given. They take effect immediately. What was counted before stays counted.\n\n" +
			"--alert-at and --alert-to raise an alert when a key reaches a percent of the limit of\n" +
			"the longest period: of --per-day if it is given, else of --per-hour, else of\n" +
			"--per-minute. Each percent alerts once for each key and period. If a call reaches\n" +
			"several, only the highest alerts. A limit that is lowered below what is used alerts\n" +
			"with the key's next call, and the percents of a raised limit alert anew. An alert goes\n" +
			"to the --alert-to that is set when it is sent; an alert of an event that has none by\n" +
			"then is dropped.\n\n" +
			"The API counts these events; another name needs --custom:\n\n" + eventsCounted,
		Example: "  worker event-limit set submit --per-minute 60 --per-hour 100 --per-day 500\n" +
			"  worker event-limit set read --per-hour 1000 --time-zone Europe/Berlin\n" +
			"  worker event-limit set submit --per-day 500 --alert-at 80,100 --alert-to ops@example.com\n" +
			"  worker event-limit set signup --per-hour 5 --custom",
		Args: cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if !cmd.Flags().Changed("per-minute") && !cmd.Flags().Changed("per-hour") && !cmd.Flags().Changed("per-day") {
				return g.Report(g.JSON, cli.Usage(cmd, "per_minute",
					"at least one of --per-minute, --per-hour and --per-day is needed (worker event-limit remove takes all limits away)"))
			}
			for field, limit := range map[string]int64{"per-minute": limits.PerMinute, "per-hour": limits.PerHour, "per-day": limits.PerDay} {
				if cmd.Flags().Changed(field) && limit == 0 { // to the API it would be no limit
					return g.Report(g.JSON, &fault.InvalidError{
						Field: strings.ReplaceAll(field, "-", "_"), Value: "0", Want: fmt.Sprintf("1 to %d; leave it out for no limit", counters.MaxLimit),
					})
				}
			}
			if cmd.Flags().Changed("alert-at") {
				if limits.AlertAt, err = cli.ParseAlertAt(alertAt); err != nil {
					return g.Report(g.JSON, err)
				}
			}
			return g.Run(func(cmd *cobra.Command, args []string, c *client.Client) error {
				return set(cmd, g, c, args[0], limits)
			})(cmd, args)
		},
	}
	cmd.Flags().Int64Var(&limits.PerMinute, "per-minute", 0, "`number` of times in a natural minute")
	cmd.Flags().Int64Var(&limits.PerHour, "per-hour", 0, "`number` of times in a natural hour")
	cmd.Flags().Int64Var(&limits.PerDay, "per-day", 0, "`number` of times in a natural day")
	cmd.Flags().StringVar(&alertAt, "alert-at", "", "`percents` of the limit of the longest period at which --alert-to is alerted, such as 80,100")
	cmd.Flags().StringVar(&limits.AlertTo, "alert-to", "", "`contact` for the alerts: an e-mail address, or an https: URL that receives a POST")
	cmd.Flags().BoolVar(&limits.Custom, "custom", false, "accept an event that the API does not count, for a program of your own")
	cmd.Flags().StringVar(&limits.TimeZone, "time-zone", "", "IANA `zone` of the hours and days, such as Europe/Berlin (default UTC)")
	return cmd
}

func set(cmd *cobra.Command, g *operations.Group, c *client.Client, event string, limits client.EventLimitsDraft) error {
	before := "no limit"
	switch former, err := c.EventLimits(cmd.Context(), event); {
	case err == nil:
		before = words(former)
	case !errors.Is(err, client.ErrNotFound):
		return err
	}
	now, err := c.SetEventLimits(cmd.Context(), event, limits)
	return operations.Answer(g, now, err, func(now client.EventLimits) string {
		return fmt.Sprintf("%s: %s → %s\nIt applies from the next call on; what is counted stays counted.\n", event, before, words(now))
	})
}

func line(e client.EventLimits) string { return e.Event + ": " + words(e) + "\n" }

// words returns the limits of an event in words.
func words(e client.EventLimits) string {
	limits := counters.EventLimits{
		PerMinute: e.PerMinute, PerHour: e.PerHour, PerDay: e.PerDay, TimeZone: e.TimeZone, AlertAt: e.AlertAt, AlertTo: e.AlertTo,
	}
	if e.TimeZone == "UTC" {
		limits.TimeZone = ""
	}
	return limits.String()
}
