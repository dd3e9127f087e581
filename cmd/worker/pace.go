package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (p program) paceCommand(ctx context.Context) *cobra.Command {
	group := &cobra.Command{
		Use:   "pace",
		Short: "Show or change how fast all workers together call the push target.",
		Long: "Show or change how fast all workers together call the push target, in the store\n" +
			"of REDIS_URL, or else the embedded one of a worker that runs. Workers follow\n" +
			"within seconds; what is late by the pace is judged as all that is late.",
		Example: "  worker pace set --rate 100/second --burst 20\n" +
			"  worker pace show --json\n" +
			"  worker pace clear",
	}
	var asJSON bool
	group.PersistentFlags().AddFlagSet(storeFlags())
	group.PersistentFlags().BoolVar(&asJSON, "json", false, "answer with one line of JSON")

	show := &cobra.Command{
		Use:     "show",
		Short:   "Show the pace, and whether the target has asked for a pause.",
		Example: "  worker pace show --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reported(asJSON, p.withPace(ctx, cmd.Flags(), func(paces *rate.Paces) error {
				return p.printPace(ctx, paces, asJSON)
			}))
		},
	}
	var rate string
	var burst int64
	set := &cobra.Command{
		Use:   "set --rate RATE [--burst N]",
		Short: "Set the pace in the place of the one there is.",
		Long: "Set the pace in the place of the one there is. No second, or whatever the rate\n" +
			"names, sees more deliveries than it allows. With a burst so many may go at once,\n" +
			"and the others follow one by one at the rate; without one, as many as it allows.",
		Example: "  worker pace set --rate 100/second\n" +
			"  worker pace set --rate 6000/minute --burst 50",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reported(asJSON, p.setPace(ctx, cmd.Flags(), rate, burst, asJSON))
		},
	}
	set.Flags().StringVar(&rate, "rate", "", "deliveries in an interval: 100/second, 6000/minute, 20/500ms")
	set.Flags().Int64Var(&burst, "burst", 0, "deliveries that may go at once, at most the rate's")
	clearing := &cobra.Command{
		Use:   "clear",
		Short: "Remove the pace, and end a pause.",
		Long: "Remove the pace, and end a pause that the target has asked for. A worker that\n" +
			"starts with a pace in its settings gives the store that one again.",
		Example: "  worker pace clear",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reported(asJSON, p.clearPace(ctx, cmd.Flags(), asJSON))
		},
	}
	group.AddCommand(show, set, clearing)
	return group
}

func (p program) setPace(ctx context.Context, flags *pflag.FlagSet, rateText string, burst int64, asJSON bool) error {
	if rateText == "" {
		return &cli.UsageError{Detail: "pace set needs --rate, such as --rate 100/second; worker pace clear removes the pace"}
	}
	parsed, err := rate.ParseRate(rateText)
	if err != nil {
		return err
	}
	pace := rate.Pace{Rate: parsed, Burst: burst}
	if err := pace.Validate(); err != nil {
		return err
	}
	if flags.Changed("burst") && burst == 0 {
		return &fault.InvalidError{Field: "burst", Value: "0", Want: "at least 1; without --burst as many as the rate allows"}
	}
	return p.withPace(ctx, flags, func(paces *rate.Paces) error {
		if err := paces.Apply(ctx, pace); err != nil {
			return fmt.Errorf("setting the pace: %w", err)
		}
		return p.printPace(ctx, paces, asJSON)
	})
}

func (p program) clearPace(ctx context.Context, flags *pflag.FlagSet, asJSON bool) error {
	return p.withPace(ctx, flags, func(paces *rate.Paces) error {
		if err := errors.Join(paces.Apply(ctx, rate.Pace{}), paces.Resume(ctx)); err != nil {
			return fmt.Errorf("removing the pace: %w", err)
		}
		return p.printPace(ctx, paces, asJSON)
	})
}

// paceAnswer is what the commands print: "" and 0 where there is none.
type paceAnswer struct {
	Target      string        `json:"target"`
	Rate        string        `json:"rate"`
	Burst       int64         `json:"burst"`
	PausedUntil *message.Time `json:"paused_until,omitempty"`
}

func (p program) printPace(ctx context.Context, paces *rate.Paces, asJSON bool) error {
	state, err := paces.Load(ctx)
	if err != nil {
		return fmt.Errorf("showing the pace: %w", err)
	}
	answer := paceAnswer{Target: deliver.PaceTarget, Burst: state.Burst}
	if state.Rate.Count > 0 {
		answer.Rate = state.Rate.String()
	}
	if state.PausedUntil.After(time.Now()) {
		answer.PausedUntil = &message.Time{Time: state.PausedUntil}
	}
	if asJSON {
		return p.printJSON(answer)
	}
	return p.print(answer.String())
}

// String says for a person how fast deliveries may come.
func (a paceAnswer) String() string {
	var s strings.Builder
	switch {
	case a.Rate == "":
		s.WriteString("no pace: deliveries go as fast as they can\n")
	case a.Burst == 0:
		fmt.Fprintf(&s, "%s over all workers\n", a.Rate)
	default:
		fmt.Fprintf(&s, "%s over all workers, at most %d at once\n", a.Rate, a.Burst)
	}
	if a.PausedUntil != nil {
		fmt.Fprintf(&s, "paused until %s, as the target has asked\n", cli.FormatTime(a.PausedUntil.Time, time.UTC))
	}
	return s.String()
}

// withPace calls do with the pace of the store that the settings name.
func (p program) withPace(ctx context.Context, flags *pflag.FlagSet, do func(*rate.Paces) error) error {
	return p.withStore(ctx, flags, func(client redis.UniversalClient, c config.Config) error {
		paces, err := rate.NewPaces(client, c.Prefix, deliver.PaceTarget)
		if err != nil {
			return fmt.Errorf("opening the pace: %w", err)
		}
		return do(paces)
	})
}

// seedPace gives a store without a pace that of the settings. Where it has one,
// it holds, and a difference is said.
func seedPace(ctx context.Context, client redis.Cmdable, c config.Config, logger *slog.Logger) error {
	if c.Pace == (rate.Pace{}) || !c.Deliver {
		return nil
	}
	paces, err := rate.NewPaces(client, c.Prefix, deliver.PaceTarget)
	if err != nil {
		return fmt.Errorf("opening the pace: %w", err)
	}
	stored, err := paces.Seed(ctx, c.Pace)
	if err != nil {
		return fmt.Errorf("giving the store its pace: %w", err)
	}
	if stored != c.Pace {
		logger.WarnContext(ctx, "the pace in the settings is not that of the store, which holds: worker pace set replaces it",
			"settings", c.Pace.String(), "store", stored.String())
	}
	return nil
}
