package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// deadLetters are the dead letters of a store, and how to show them.
type deadLetters struct {
	program
	*deadletters.Letters

	json    bool
	tz      string
	zone    *time.Location // of tz
	palette cli.Palette
}

func (p program) deadLettersCommand(ctx context.Context) *cobra.Command {
	d := &deadLetters{program: p}
	group := &cobra.Command{
		Use:   "dead-letters",
		Short: "Look at messages that were given up, send them after all, or forget them.",
		Long: "Look at messages that were given up, send them after all, or forget them: those\n" +
			"that failed for good, and those of which nobody knows whether they were sent.\n" +
			"Each is kept with its content as long as any message that ended (keep_records).",
		Example: "  worker dead-letters list --user alice\n" +
			"  worker dead-letters retry --user alice order-17\n" +
			"  worker dead-letters purge --older-than 7d",
	}
	flags := group.PersistentFlags()
	flags.AddFlagSet(storeFlags())
	flags.BoolVar(&d.json, "json", false, "answer in JSON, one line for each message")
	flags.StringVar(&d.tz, "tz", "", "IANA time `zone` of the times that are shown (default UTC)")
	group.AddCommand(d.listCommand(ctx), d.showCommand(ctx), d.retryCommand(ctx), d.purgeCommand(ctx))
	return group
}

// on calls do with the dead letters of the store that the settings name.
func (d *deadLetters) on(ctx context.Context, flags *pflag.FlagSet, do func() error) error {
	err := d.open(ctx, flags, do)
	if _, printed := errors.AsType[cli.StatusError](err); printed {
		return err
	}
	return d.reported(d.json, err)
}

func (d *deadLetters) open(ctx context.Context, flags *pflag.FlagSet, do func() error) (err error) {
	if d.zone, err = cli.ParseZone(d.tz); err != nil {
		return err
	}
	d.palette = cli.NewPalette(d.stdout, d.getenv)
	return d.withStore(ctx, flags, func(client redis.UniversalClient, c config.Config) error {
		d.Letters, err = deadletters.New(client, deadletters.Options{
			Prefix: c.Prefix, Reach: c.Reach, ExpireAfter: c.ExpireAfter,
		})
		if err != nil {
			return fmt.Errorf("opening the dead letters: %w", err)
		}
		defer d.Close()
		return do()
	})
}

// oneOrMany makes cobra insist on --user and an ID, or on just one of the flags
// that ask for many.
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

// answer prints the outcome for one message, and returns what to end with.
func (d *deadLetters) answer(o message.Outcome) error {
	if err := d.printOutcome(o); err != nil {
		return err
	}
	if status := cli.StatusOf(o.Code); status != cli.StatusDone {
		return cli.StatusError(status)
	}
	return nil
}

func (d *deadLetters) printOutcome(o message.Outcome) error {
	switch {
	case d.json:
		return d.printJSON(o)
	case o.Outcome == deadletters.Retried:
		return d.print(fmt.Sprintf("%s message %s to %s is sent at %s\n",
			d.palette.Green("retried:"), o.ID, o.User, d.palette.Bold(d.time(o.SendAt))))
	case o.Outcome == deadletters.Purged:
		return d.print(fmt.Sprintf("%s message %s to %s\n", d.palette.Green("purged:"), o.ID, o.User))
	case o.Outcome == message.Invalid:
		_, err := fmt.Fprintf(d.stderr, "%s %s\n", cli.NewPalette(d.stderr, d.getenv).Red("error:"), o.Detail)
		return err //nolint:wrapcheck // there is nowhere to say so
	default:
		return d.print(fmt.Sprintf("%s %s\n", d.palette.Yellow("refused:"), o.Detail))
	}
}

func (d *deadLetters) time(at message.Time) string { return cli.FormatTime(at.Time, d.zone) }

// getenv is os.Getenv for what the program was given.
func (p program) getenv(name string) string {
	value := ""
	for _, entry := range p.environ {
		if rest, found := strings.CutPrefix(entry, name+"="); found {
			value = rest
		}
	}
	return value
}
