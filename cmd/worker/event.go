package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

func (p program) eventCommand(ctx context.Context) *cobra.Command {
	group := &cobra.Command{
		Use:   "event",
		Short: "Show or change how often an event may happen for each key.",
		Long: "Show or change how often an event may happen for each key, such as the submits\n" +
			"of each account. The limits live in the store, and hold from the next call on in\n" +
			"every program. An event without limits is not limited.",
		Example: "  worker event set submit --per-minute 60 --per-hour 100 --per-day 500\n" +
			"  worker event list",
	}
	e := &events{program: p}
	group.PersistentFlags().AddFlagSet(storeFlags())
	group.PersistentFlags().BoolVar(&e.asJSON, "json", false, "answer with one line of JSON for each event")
	group.AddCommand(e.setCommand(ctx), e.listCommand(ctx), e.showCommand(ctx), e.removeCommand(ctx))
	return group
}

// events are the subcommands of event.
type events struct {
	program

	asJSON bool
}

func (e *events) setCommand(ctx context.Context) *cobra.Command {
	var event counters.Event
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Give an event its limits, in place of those it had.",
		Long: "Give an event its limits, in place of those it had: per natural minute, hour\n" +
			"and day. They hold from the next call on, and what is counted stays counted. A\n" +
			"limit that is left out is none.",
		Example: "  worker event set submit --per-minute 60 --per-hour 100 --per-day 500\n" +
			"  worker event set login --per-hour 5 --time-zone Europe/Berlin",
		Args: cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			event.Name = args[0]
			if !cmd.Flags().Changed("per-minute") && !cmd.Flags().Changed("per-hour") && !cmd.Flags().Changed("per-day") {
				return e.reported(e.asJSON, cli.Usage(cmd, "per_minute",
					"at least one of --per-minute, --per-hour and --per-day is needed (worker event remove takes all limits away)"))
			}
			for field, limit := range map[string]int64{"per-minute": event.PerMinute, "per-hour": event.PerHour, "per-day": event.PerDay} {
				if cmd.Flags().Changed(field) && limit == 0 {
					return e.reported(e.asJSON, &fault.InvalidError{
						Field: strings.ReplaceAll(field, "-", "_"), Value: "0", Want: fmt.Sprintf("1 to %d; leave it out for no limit", sendlimit.MaxCounterLimit),
					})
				}
			}
			return e.reported(e.asJSON, e.set(ctx, cmd.Flags(), event))
		},
	}
	cmd.Flags().Int64Var(&event.PerMinute, "per-minute", 0, "how often in a natural minute, a `number`")
	cmd.Flags().Int64Var(&event.PerHour, "per-hour", 0, "how often in a natural hour, a `number`")
	cmd.Flags().Int64Var(&event.PerDay, "per-day", 0, "how often in a natural day, a `number`")
	cmd.Flags().StringVar(&event.TimeZone, "time-zone", "", "`zone` of the natural periods, such as Europe/Berlin (default UTC)")
	return cmd
}

func (e *events) listCommand(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the events that have limits.",
		Example: "  worker event list --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.reported(e.asJSON, e.on(ctx, cmd.Flags(), func(s *counters.Events) error {
				all, err := s.List(ctx)
				if err != nil {
					return fmt.Errorf("listing the events: %w", err)
				}
				for _, event := range all {
					if err := e.answer(event); err != nil {
						return err
					}
				}
				if len(all) == 0 && !e.asJSON {
					return e.print("No event has limits: worker event set NAME gives it some.\n")
				}
				return nil
			}))
		},
	}
}

func (e *events) showCommand(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Show the limits of an event.",
		Long:    "Show the limits of an event. The exit status is 4 where it has none.",
		Example: "  worker event show submit",
		Args:    cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.reported(e.asJSON, e.on(ctx, cmd.Flags(), func(s *counters.Events) error {
				event, ok, err := s.Get(ctx, args[0])
				if err != nil {
					return fmt.Errorf("looking up an event: %w", err)
				}
				if !ok {
					return noSuchEvent(args[0])
				}
				return e.answer(event)
			}))
		},
	}
}

func (e *events) removeCommand(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Take the limits of an event away, so that it is limited no more.",
		Long: "Take the limits of an event away, so that it is limited no more, from the next\n" +
			"call on. The exit status is 4 where it has none.",
		Example: "  worker event remove submit",
		Args:    cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.reported(e.asJSON, e.on(ctx, cmd.Flags(), func(s *counters.Events) error {
				event, _, err := s.Get(ctx, args[0])
				if err != nil {
					return fmt.Errorf("looking up an event: %w", err)
				}
				removed, err := s.Remove(ctx, args[0])
				if err != nil {
					return fmt.Errorf("removing the limits of an event: %w", err)
				}
				if !removed {
					return noSuchEvent(args[0])
				}
				if e.asJSON {
					return e.printJSON(eventDocumentOf(event))
				}
				return e.print(fmt.Sprintf("%s: %s → no limit\nIt holds from the next call on.\n", event.Name, event))
			}))
		},
	}
}

func (e *events) set(ctx context.Context, flags *pflag.FlagSet, event counters.Event) error {
	if err := event.Validate(); err != nil {
		return fmt.Errorf("setting the limits of an event: %w", err)
	}
	return e.withStore(ctx, flags, func(client redis.UniversalClient, c config.Config) error {
		if err := store.CheckLayout(ctx, client, c.Prefix); err != nil { // it marks a new store
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
			return e.printJSON(eventDocumentOf(event))
		}
		before := "no limit"
		if had {
			before = old.String()
		}
		return e.print(fmt.Sprintf("%s: %s → %s\nIt holds from the next call on; what is counted stays counted.\n", event.Name, before, event))
	})
}

// on calls do with the events of the store that the settings name.
func (e *events) on(ctx context.Context, flags *pflag.FlagSet, do func(*counters.Events) error) error {
	return e.withStore(ctx, flags, func(client redis.UniversalClient, c config.Config) error {
		opened, err := counters.NewEvents(client, c.Prefix)
		if err != nil {
			return fmt.Errorf("opening the events: %w", err)
		}
		return do(opened)
	})
}

// answer prints an event on a line.
func (e *events) answer(event counters.Event) error {
	if e.asJSON {
		return e.printJSON(eventDocumentOf(event))
	}
	return e.print(event.Name + ": " + event.String() + "\n")
}

// eventDocument is an event as answers have it; a limit that is null is none.
type eventDocument struct {
	Name      string `json:"name"`
	PerMinute *int64 `json:"per_minute"`
	PerHour   *int64 `json:"per_hour"`
	PerDay    *int64 `json:"per_day"`
	TimeZone  string `json:"time_zone"`
}

func eventDocumentOf(e counters.Event) eventDocument {
	limit := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	d := eventDocument{
		Name: e.Name, PerMinute: limit(e.PerMinute), PerHour: limit(e.PerHour), PerDay: limit(e.PerDay), TimeZone: e.TimeZone,
	}
	if d.TimeZone == "" {
		d.TimeZone = "UTC"
	}
	return d
}

// eventError says that an event has no limits.
type eventError struct{ name string }

func noSuchEvent(name string) error { return &eventError{name} }

func (e *eventError) Error() string {
	return fmt.Sprintf("the event %q has no limits: worker event set %s --per-minute 60 gives it one", e.name, e.name)
}

// Code returns sendlimit.CodeNotFound.
func (e *eventError) Code() fault.Code { return fault.CodeNotFound }
