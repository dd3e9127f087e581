package deadletters

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
)

// commands is shared by the subcommands of dead-letters.
type commands struct {
	*operations.Group

	tz      string
	zone    *time.Location // of tz
	palette cli.Palette
}

// Command returns the group "sendlimit-worker dead-letters".
func Command(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use: "dead-letters", Short: "Show, retry or purge messages that were given up.",
		Long: "Show, retry or purge messages that were given up. A message is given up when it\n" +
			"failed permanently, or when it may have been sent. It is kept with its content as\n" +
			"long as other ended messages (keep_records).",
		Example: "  sendlimit-worker dead-letters list --user alice\n" +
			"  sendlimit-worker dead-letters retry --user alice order-17\n" +
			"  sendlimit-worker dead-letters purge --older-than 7d",
	}
	d := &commands{Group: operations.NewGroup(p, group)}
	group.PersistentFlags().StringVar(&d.tz, "tz", "", "IANA time `zone` of the times shown (default UTC)")
	group.AddCommand(d.listCommand(), d.showCommand(), d.retryCommand(), d.purgeCommand())
	return group
}

// run is Run, in the time zone of the flag.
func (d *commands) run(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		if d.zone, err = cli.ParseZone(d.tz); err != nil {
			return err
		}
		d.palette = d.Palette()
		return d.Run(do)(cmd, args)
	}
}

// oneOrMany requires --user and an ID, or exactly one of the flags for many, if there are any.
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
			return cli.Usage(cmd, given[1], fmt.Sprintf("--%s and --%s exclude each other", given[0], given[1]))
		case len(given) == 0 && len(args) == 0 && len(many) > 0:
			return cli.Usage(cmd, "id", "ID is missing: give --user and an ID, or "+others)
		case len(given) == 0:
			return cli.Usage(cmd, "user", "--user is missing")
		case given[0] == "user":
			return cli.Argument("ID")(cmd, args)
		case len(args) > 0:
			return cli.Usage(cmd, "id", fmt.Sprintf("unexpected argument %q beside --%s", args[0], given[0]))
		default:
			return nil
		}
	}
}

// answer prints the outcome of a message.
func (d *commands) answer(o client.Outcome, err error) error {
	return operations.Answer(d.Group, o, err, func(o client.Outcome) string {
		if o.Outcome == message.Retried {
			return fmt.Sprintf("%s message %s to %s will be sent at %s\n", d.palette.Green("retried:"), o.ID, o.User, d.palette.Bold(d.time(o.SendAt)))
		}
		return fmt.Sprintf("%s message %s to %s\n", d.palette.Green("purged:"), o.ID, o.User)
	})
}

func (d *commands) time(at client.Time) string { return cli.FormatTime(at.Time, d.zone) }
