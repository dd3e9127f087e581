package event

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/contact"
)

// Command returns the group "worker event".
func Command(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use:   "event",
		Short: "Show or change how often an event may happen for each key.",
		Long: "Show or change how often an event may happen for each key: for example, how often\n" +
			"each account may submit. The limits are in the store and take effect immediately,\n" +
			"in every program. An event without limits may happen any number of times.\n\n" +
			"The API counts the requests of each account as these events, beside the limits of\n" +
			"its tier:\n\n" + eventsCounted() +
			"\nOther events are for programs of your own that count them, with package counters.\n\n" +
			"An event can have alerts: a mail or a webhook for each key that reaches a percent of\n" +
			"the limit of the longest period, which is the day if it has a limit.",
		Example: "  worker event set submit --per-minute 60 --per-hour 100 --per-day 500\n" +
			"  worker event set submit --per-day 500 --alert-at 80,100 --alert-to ops@example.com\n" +
			"  worker event list",
	}
	e := &commands{Program: p}
	group.PersistentFlags().AddFlagSet(cli.StoreFlags())
	group.PersistentFlags().BoolVar(&e.asJSON, "json", false, "answer with one line of JSON for each event")
	group.AddCommand(e.setCommand(), e.listCommand(), e.showCommand(), e.removeCommand())
	return group
}

// eventsCounted lists the events that the API counts, one a line.
func eventsCounted() string {
	var lines strings.Builder
	for _, e := range api.Events() {
		fmt.Fprintf(&lines, "  %-8s %s\n", e.Name, e.Counts)
	}
	return lines.String()
}

// counted reports whether the API counts an event.
func counted(name string) bool {
	return slices.ContainsFunc(api.Events(), func(e api.Event) bool { return e.Name == name })
}

// notCounted returns the error for an event that the API does not count.
func notCounted(name string) error {
	names := make([]string, 0, len(api.Events()))
	for _, event := range api.Events() {
		names = append(names, event.Name)
	}
	return fault.Wrong("event", "nothing here counts the event %q, so its limits would have no effect: the events are %s; "+
		"give --custom for an event that a program of your own counts", name, strings.Join(names, ", "))
}

// commands is what the subcommands of event share.
type commands struct {
	cli.Program

	asJSON bool
}

func (e *commands) setCommand() *cobra.Command {
	var event counters.EventLimits
	var custom bool
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
			"The API counts these events; another name needs --custom:\n\n" + strings.TrimSuffix(eventsCounted(), "\n"),
		Example: "  worker event set submit --per-minute 60 --per-hour 100 --per-day 500\n" +
			"  worker event set read --per-hour 1000 --time-zone Europe/Berlin\n" +
			"  worker event set submit --per-day 500 --alert-at 80,100 --alert-to ops@example.com\n" +
			"  worker event set signup --per-hour 5 --custom",
		Args: cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			event.Name = args[0]
			if !cmd.Flags().Changed("per-minute") && !cmd.Flags().Changed("per-hour") && !cmd.Flags().Changed("per-day") {
				return e.Report(e.asJSON, cli.Usage(cmd, "per_minute",
					"at least one of --per-minute, --per-hour and --per-day is needed (worker event remove takes all limits away)"))
			}
			for field, limit := range map[string]int64{"per-minute": event.PerMinute, "per-hour": event.PerHour, "per-day": event.PerDay} {
				if cmd.Flags().Changed(field) && limit == 0 {
					return e.Report(e.asJSON, &fault.InvalidError{
						Field: strings.ReplaceAll(field, "-", "_"), Value: "0", Want: fmt.Sprintf("1 to %d; leave it out for no limit", counters.MaxLimit),
					})
				}
			}
			if cmd.Flags().Changed("alert-at") {
				var err error
				if event.AlertAt, err = cli.ParseAlertAt(alertAt); err != nil {
					return e.Report(e.asJSON, err)
				}
			}
			if err := event.Validate(); err != nil {
				return e.Report(e.asJSON, fmt.Errorf("setting the limits of an event: %w", err))
			}
			if !custom && !counted(event.Name) {
				return e.Report(e.asJSON, notCounted(event.Name))
			}
			return e.Report(e.asJSON, e.set(cmd, event))
		},
	}
	cmd.Flags().Int64Var(&event.PerMinute, "per-minute", 0, "`number` of times in a natural minute")
	cmd.Flags().Int64Var(&event.PerHour, "per-hour", 0, "`number` of times in a natural hour")
	cmd.Flags().Int64Var(&event.PerDay, "per-day", 0, "`number` of times in a natural day")
	cmd.Flags().StringVar(&alertAt, "alert-at", "", "`percents` of the limit of the longest period at which --alert-to is alerted, such as 80,100")
	cmd.Flags().StringVar(&event.AlertTo, "alert-to", "", "`contact` for the alerts: an e-mail address, or an https: URL that receives a POST")
	cmd.Flags().BoolVar(&custom, "custom", false, "accept an event that the API does not count, for a program of your own")
	cmd.Flags().StringVar(&event.TimeZone, "time-zone", "", "IANA `zone` of the hours and days, such as Europe/Berlin (default UTC)")
	return cmd
}

func (e *commands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the events that have limits.",
		Example: "  worker event list --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.Report(e.asJSON, e.withEvents(cmd, func(ctx context.Context, s *counters.Events) error {
				all, err := s.List(ctx)
				if err != nil {
					return fmt.Errorf("listing the events: %w", err)
				}
				for _, event := range all {
					if err := e.printEvent(event); err != nil {
						return err
					}
				}
				if len(all) == 0 && !e.asJSON {
					return e.PrintHint("No event has limits: worker event set NAME gives it some.\n")
				}
				return nil
			}))
		},
	}
}

func (e *commands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Show the limits of an event.",
		Long:    "Show the limits of an event. The exit status is 4 if it has none.",
		Example: "  worker event show submit",
		Args:    cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.Report(e.asJSON, e.withEvents(cmd, func(ctx context.Context, s *counters.Events) error {
				event, ok, err := s.Get(ctx, args[0])
				if err != nil {
					return fmt.Errorf("looking up an event: %w", err)
				}
				if !ok {
					return &missingError{args[0]}
				}
				return e.printEvent(event)
			}))
		},
	}
}

func (e *commands) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove the limits of an event.",
		Long:    "Remove the limits of an event. The exit status is 4 if it has none.",
		Example: "  worker event remove submit",
		Args:    cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.Report(e.asJSON, e.withEvents(cmd, func(ctx context.Context, s *counters.Events) error {
				event, _, err := s.Get(ctx, args[0])
				if err != nil {
					return fmt.Errorf("looking up an event: %w", err)
				}
				removed, err := s.Remove(ctx, args[0])
				if err != nil {
					return fmt.Errorf("removing the limits of an event: %w", err)
				}
				if !removed {
					return &missingError{args[0]}
				}
				if e.asJSON {
					return e.PrintJSON(documentOf(event))
				}
				return e.Print(fmt.Sprintf("%s: %s → no limit\nIt applies from the next call on.\n", event.Name, event))
			}))
		},
	}
}

func (e *commands) set(cmd *cobra.Command, event counters.EventLimits) error {
	ctx := cmd.Context()
	return store.With(ctx, e.Program, cmd.Flags(), func(client redis.UniversalClient, c config.Config) error {
		if err := (contact.Rule{AllowInternal: c.AllowInternalWebhooks}).Check("alert_to", event.AlertTo); err != nil {
			return fmt.Errorf("setting the limits of an event: %w", err)
		}
		if err := redisstore.PresentLayout.Check(ctx, client, c.Prefix); err != nil { // it marks a new store
			return fmt.Errorf("looking at the layout of the store: %w", err)
		}
		s, err := counters.NewEvents(client, c.Prefix)
		if err != nil {
			return fmt.Errorf("opening the events: %w", err)
		}
		old, had, err := s.Get(ctx, event.Name)
		if err != nil {
			return fmt.Errorf("looking at the limits to replace: %w", err)
		}
		if err := s.Set(ctx, event); err != nil {
			return fmt.Errorf("setting the limits of an event: %w", err)
		}
		if e.asJSON {
			return e.PrintJSON(documentOf(event))
		}
		before := "no limit"
		if had {
			before = old.String()
		}
		return e.Print(fmt.Sprintf("%s: %s → %s\nIt applies from the next call on; what is counted stays counted.\n", event.Name, before, event))
	})
}

// withEvents calls do with the events of the store that the settings name.
func (e *commands) withEvents(cmd *cobra.Command, do func(context.Context, *counters.Events) error) error {
	return store.With(cmd.Context(), e.Program, cmd.Flags(), func(client redis.UniversalClient, c config.Config) error {
		opened, err := counters.NewEvents(client, c.Prefix)
		if err != nil {
			return fmt.Errorf("opening the events: %w", err)
		}
		return do(cmd.Context(), opened)
	})
}

// printEvent prints an event on a line.
func (e *commands) printEvent(event counters.EventLimits) error {
	if e.asJSON {
		return e.PrintJSON(documentOf(event))
	}
	return e.Print(event.Name + ": " + event.String() + "\n")
}

// document is an event in answers. A null limit is no limit. Without alert_at there are no
// alerts.
type document struct {
	Name      string `json:"name"`
	PerMinute *int64 `json:"per_minute"`
	PerHour   *int64 `json:"per_hour"`
	PerDay    *int64 `json:"per_day"`
	TimeZone  string `json:"time_zone"`
	AlertAt   []int  `json:"alert_at,omitempty"`
	AlertTo   string `json:"alert_to,omitempty"`
}

func documentOf(e counters.EventLimits) document {
	limit := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	d := document{
		Name: e.Name, PerMinute: limit(e.PerMinute), PerHour: limit(e.PerHour), PerDay: limit(e.PerDay), TimeZone: e.TimeZone,
		AlertAt: e.AlertAt, AlertTo: e.AlertTo,
	}
	if d.TimeZone == "" {
		d.TimeZone = "UTC"
	}
	return d
}

// missingError is returned for an event without limits.
type missingError struct{ name string }

// Error says how to give the event limits.
func (e *missingError) Error() string {
	return fmt.Sprintf("the event %q has no limits: worker event set %s --per-minute 60 gives it one", e.name, e.name)
}

// Code returns fault.CodeNotFound.
func (e *missingError) Code() fault.Code { return fault.CodeNotFound }
