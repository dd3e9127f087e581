package deadletters

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// commands is what the subcommands of dead-letters share.
type commands struct {
	cli.Program
	*deadletters.DeadLetters

	json    bool
	tz      string
	zone    *time.Location // of tz
	palette cli.Palette
}

// Command returns the group "worker dead-letters".
func Command(p cli.Program) *cobra.Command {
	d := &commands{Program: p}
	group := &cobra.Command{
		Use:   "dead-letters",
		Short: "Show messages that were given up, retry them, or purge them.",
		Long: "Show messages that were given up, retry them, or purge them. A message is given up\n" +
			"when it failed for good, or when it may or may not have been sent. It is kept with\n" +
			"its content as long as every message that ended (keep_records).",
		Example: "  worker dead-letters list --user alice\n" +
			"  worker dead-letters retry --user alice order-17\n" +
			"  worker dead-letters purge --older-than 7d",
	}
	flags := group.PersistentFlags()
	flags.AddFlagSet(cli.StoreFlags())
	flags.BoolVar(&d.json, "json", false, "answer in JSON, one object a line")
	flags.StringVar(&d.tz, "tz", "", "IANA time `zone` of the times shown (default UTC)")
	group.AddCommand(d.listCommand(), d.showCommand(), d.retryCommand(), d.purgeCommand())
	return group
}

// withLetters opens the dead letters of the store that the settings name, and calls
// do.
func (d *commands) withLetters(cmd *cobra.Command, do func(context.Context) error) error {
	return d.Report(d.json, d.open(cmd, do))
}

func (d *commands) open(cmd *cobra.Command, do func(context.Context) error) (err error) {
	if d.zone, err = cli.ParseZone(d.tz); err != nil {
		return err
	}
	d.palette = d.Palette()
	return store.With(cmd.Context(), d.Program, cmd.Flags(), func(client redis.UniversalClient, c config.Config) error {
		b, err := backend.Open(client, store.BackendOptions(c))
		if err != nil {
			return fmt.Errorf("opening the store: %w", err)
		}
		if err := b.Listen.Load(cmd.Context()); err != nil {
			return err
		}
		if d.DeadLetters, err = deadletters.New(b); err != nil {
			return fmt.Errorf("opening the dead letters: %w", err)
		}
		defer b.StartFlushing()() // of many
		defer d.Close()
		return do(cmd.Context())
	})
}

// oneOrMany requires --user and an ID, or exactly one of the flags for many.
func oneOrMany(many ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		var given []string
		for _, name := range append([]string{"user"}, many...) {
			if f := cmd.Flag(name); f.Changed && (f.Value.Type() != "bool" || f.Value.String() == "true") {
				given = append(given, name)
			}
		}
		others := "--" + strings.Join(many, " or --")
		switch {
		case len(given) > 1:
			return cli.Usage(cmd, given[1], fmt.Sprintf("--%s and --%s can't be given together", given[0], given[1]))
		case len(given) == 0 && len(args) == 0:
			return cli.Usage(cmd, "id", "ID is missing: give --user and an ID, or "+others)
		case len(given) == 0:
			return cli.Usage(cmd, "user", "--user is missing")
		case given[0] == "user":
			return cli.Argument("ID")(cmd, args)
		case len(args) > 0:
			return cli.Usage(cmd, "id", fmt.Sprintf("%q is too much beside --%s", args[0], given[0]))
		default:
			return nil
		}
	}
}

// answer prints the outcome for one message, and returns the error to end with.
func (d *commands) answer(o message.Outcome) error {
	if err := d.printOutcome(o); err != nil {
		return err
	}
	if status := cli.StatusOf(o.Code); status != cli.StatusDone {
		return cli.StatusError(status)
	}
	return nil
}

func (d *commands) printOutcome(o message.Outcome) error {
	switch {
	case d.json:
		return d.PrintJSON(o)
	case o.Outcome == message.Retried:
		return d.Print(fmt.Sprintf("%s message %s to %s is sent at %s\n",
			d.palette.Green("retried:"), o.ID, o.User, d.palette.Bold(d.time(o.SendAt))))
	case o.Outcome == message.Purged:
		return d.Print(fmt.Sprintf("%s message %s to %s\n", d.palette.Green("purged:"), o.ID, o.User))
	case o.Outcome == message.Invalid:
		_, err := fmt.Fprintf(cli.VisibleTo(d.Stderr), "%s %s\n", cli.NewPalette(d.Stderr, d.Getenv).Red("error:"), o.Detail)
		return err
	default:
		return d.Print(fmt.Sprintf("%s %s\n", d.palette.Yellow("refused:"), o.Detail))
	}
}

func (d *commands) time(at message.Time) string { return cli.FormatTime(at.Time, d.zone) }
