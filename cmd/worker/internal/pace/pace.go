package pace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// commands is what the subcommands of pace share.
type commands struct {
	cli.Program

	asJSON  bool
	channel string // whose pace it is; "" for that of all channels together
}

// Command returns the group "worker pace".
func Command(p cli.Program) *cobra.Command {
	c := &commands{Program: p}
	group := &cobra.Command{
		Use:   "pace",
		Short: "Show or change how fast all workers together deliver.",
		Long: "Show or change how fast all workers together deliver: messages through all\n" +
			"channels, or pushes through one channel with --channel. The pace is in the store\n" +
			"of REDIS_URL, or else the embedded one of a running worker. Workers follow a\n" +
			"change within 2 seconds, also with messages that wait already. A message that the\n" +
			"pace makes late is judged like every late message. After a time without\n" +
			"deliveries, the rate rises to the full one over pace.ramp.",
		Example: "  worker pace set --rate 100/second --burst 20\n" +
			"  worker pace set --channel fcm --rate 10000/second\n" +
			"  worker pace show --json\n" +
			"  worker pace clear",
	}
	group.PersistentFlags().AddFlagSet(cli.StoreFlags())
	group.PersistentFlags().StringVar(&c.channel, "channel", "", "pace of one `channel`, such as fcm; by default that of all messages")
	group.PersistentFlags().BoolVar(&c.asJSON, "json", false, "answer with one line of JSON")

	show := &cobra.Command{
		Use:     "show",
		Short:   "Show the pace, and whether the target has asked for a pause.",
		Example: "  worker pace show --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.Report(c.asJSON, c.withPaces(cmd, c.printPace))
		},
	}
	var rate string
	var burst int64
	set := &cobra.Command{
		Use:   "set --rate RATE [--burst N]",
		Short: "Set or replace the pace.",
		Long: "Set or replace the pace. No interval, such as a second, has more deliveries than\n" +
			"the rate allows. With a burst, at most that many deliveries start at once and the\n" +
			"others follow one by one at the rate. Without a burst, all that the rate allows\n" +
			"may start at once.",
		Example: "  worker pace set --rate 100/second\n" +
			"  worker pace set --rate 6000/minute --burst 50",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.Report(c.asJSON, c.set(cmd, rate, burst))
		},
	}
	set.Flags().StringVar(&rate, "rate", "", "`deliveries` in an interval: 100/second, 6000/minute, 20/500ms")
	set.Flags().Int64Var(&burst, "burst", 0, "`deliveries` that may start at once, at most those of the rate")
	clearing := &cobra.Command{
		Use:   "clear",
		Short: "Remove the pace, and end a pause.",
		Long: "Remove the pace, and end a pause that the target has asked for. A worker that has\n" +
			"a pace in its settings sets it again when it starts.",
		Example: "  worker pace clear",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.Report(c.asJSON, c.withPaces(cmd, c.clearPace))
		},
	}
	group.AddCommand(show, set, clearing)
	return group
}

func (c *commands) set(cmd *cobra.Command, rateText string, burst int64) error {
	if rateText == "" {
		return &cli.UsageError{Detail: "pace set needs --rate, such as --rate 100/second; worker pace clear removes the pace"}
	}
	parsed, err := rate.Parse(rateText)
	if err != nil {
		return err
	}
	pace := rate.Pace{Rate: parsed, Burst: burst}
	if err := pace.Validate(); err != nil {
		return err
	}
	if cmd.Flags().Changed("burst") && burst == 0 {
		return fault.Wrong("burst", "--burst has to be at least 1; without it the rate is the burst")
	}
	return c.withPaces(cmd, func(ctx context.Context, paces *rate.Paces) error {
		if err := paces.Apply(ctx, pace); err != nil {
			return fmt.Errorf("setting the pace: %w", err)
		}
		return c.printPace(ctx, paces)
	})
}

func (c *commands) clearPace(ctx context.Context, paces *rate.Paces) error {
	if err := errors.Join(paces.Apply(ctx, rate.Pace{}), paces.Resume(ctx)); err != nil {
		return fmt.Errorf("removing the pace: %w", err)
	}
	return c.printPace(ctx, paces)
}

// answer is what the commands print. Without a pace, Rate is "" and Burst 0.
type answer struct {
	Target      string        `json:"target"`
	Rate        string        `json:"rate"`
	Burst       int64         `json:"burst"`
	PausedUntil *message.Time `json:"paused_until,omitempty"`
}

func (c *commands) printPace(ctx context.Context, paces *rate.Paces) error {
	state, err := paces.Load(ctx)
	if err != nil {
		return fmt.Errorf("showing the pace: %w", err)
	}
	found := answer{Target: c.target(), Burst: state.Burst}
	if state.Rate.Count > 0 {
		found.Rate = state.Rate.String()
	}
	if state.PausedUntil.After(time.Now()) {
		found.PausedUntil = &message.Time{Time: state.PausedUntil}
	}
	if c.asJSON {
		return c.PrintJSON(found)
	}
	return c.Print(found.String())
}

// String describes the pace for a person.
func (a answer) String() string {
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

// target returns whose pace it is, for rate.Paces.
func (c *commands) target() string {
	if c.channel == "" {
		return deliver.PaceTarget
	}
	return deliver.ChannelPace(c.channel)
}

// withPaces calls do with the paces of the store that the settings name.
func (c *commands) withPaces(cmd *cobra.Command, do func(context.Context, *rate.Paces) error) error {
	return store.With(cmd.Context(), c.Program, cmd.Flags(), func(client redis.UniversalClient, settings config.Config) error {
		if c.channel != "" && !slices.Contains(notifier.Channels(), c.channel) {
			return &fault.InvalidError{Field: "channel", Value: c.channel, Want: strings.Join(notifier.Channels(), ", ")}
		}
		paces, err := rate.NewPaces(client, settings.Prefix, c.target())
		if err != nil {
			return fmt.Errorf("opening the pace: %w", err)
		}
		return do(cmd.Context(), paces)
	})
}
