package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// program is the environment of sendlimit.
type program struct {
	cli.Program
	*operations.Group // of the command line

	now  func() time.Time
	temp string // folder of temporary files; "" means the system's
	tz   string // flag of the commands that read or show times
}

// run is sendlimit without its process.
func run(ctx context.Context, of cli.Program, args []string) error {
	return (&program{Program: of, now: time.Now}).run(ctx, args)
}

// run runs a command line. It prints errors as the flags say, unless ctx has ended.
func (p *program) run(ctx context.Context, args []string) error {
	err := cli.Execute(ctx, p.Names, p.command(ctx), args)
	if _, printed := errors.AsType[cli.StatusError](err); err == nil || printed || errors.Is(err, context.Canceled) {
		return err
	}
	if cli.AsksJSON(args) {
		return cli.ReportJSON(p.Stdout, p.Names, err)
	}
	return cli.Report(p.Stderr, cli.NewPalette(p.Stderr, p.Getenv), p.Names, err)
}

func (p *program) command(ctx context.Context) *cobra.Command {
	root := &cobra.Command{
		Use: cli.Submitter, Short: "Submit messages to be sent at a future time.",
		Long: `Submit messages to be sent at a future time, and show what is scheduled. The
rules that limit how many messages a user receives are in the store. With --api
an API does it, for the account of the key; without --api and --redis-url the API
of the worker on this machine does, at 127.0.0.1:8080 or SENDLIMIT_LISTEN.

Times are written as RFC 3339 (2040-06-22T11:11:11Z), now, +90m (from now on),
or YYYY-MM-DD HH:MM in the time zone of --tz.

The exit status is 0 for done, 2 for bad usage or input, 3 for refused, 4 for
not found, 5 for a store or an API that can't be used, and 1 for anything
unexpected.`,
		Example: `  sendlimit push --user alice --at +10m --title "Your table is ready"
  sendlimit usage --user alice --api https://push.example.com
  sendlimit bulk messages.csv`,
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	p.Group = operations.NewGroup(p.Program, root)
	root.PersistentFlags().AddFlagSet(cli.AccountFlag())
	root.AddCommand(p.pushCommand(), p.bulkCommand(ctx), p.cancelCommand(), p.moveCommand(), p.editCommand(),
		p.statusCommand(), p.findCommand(), p.listCommand(), p.usageCommand(), p.nextFreeCommand(),
		p.campaignCommand(), p.deviceCommand(), p.eventsCommand())
	return root
}

// style returns how to draw on standard output.
func (p *program) style() (picture.Style, error) {
	zone, err := p.shownIn()
	return picture.StyleFor(p.Stdout, p.Getenv, zone), err
}

// printf prints a text to standard output.
func (p *program) printf(format string, args ...any) error {
	return p.Print(fmt.Sprintf(format, args...))
}

// printAnswer prints an answer, as JSON or as draw does for a person.
func printAnswer[T any](p *program, answer T, err error, draw func(picture.Style, T) error) error {
	switch {
	case err != nil:
		return err
	case p.JSON:
		return p.PrintJSON(answer)
	}
	style, err := p.style()
	if err != nil {
		return err
	}
	return draw(style, answer)
}

// timeZoneFlag adds --tz to a command.
func (p *program) timeZoneFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.tz, "tz", "", "IANA time `zone` of local times, for reading and showing (default UTC)")
}

// followZoneFlag adds --follow-zone to a command that sets a send time.
func followZoneFlag(cmd *cobra.Command, follow *bool) {
	cmd.Flags().BoolVar(follow, "follow-zone", false, "keep the local time --at when the user's own time zone changes: with --tz user")
}

// messageZoneFlag adds --tz to a command whose times may be in the user's zone.
func (p *program) messageZoneFlag(cmd *cobra.Command, strict *bool) {
	cmd.Flags().StringVar(&p.tz, "tz", "", "time `zone` of local times: user, for the user's own, or an IANA name, in which times are shown too (default UTC)")
	cmd.Flags().BoolVar(strict, "clock-strict", false, "refuse a local time that clocks skip or show twice")
}

// shownIn returns the time zone in which times are shown.
func (p *program) shownIn() (*time.Location, error) {
	if p.tz == message.ZoneUser {
		return time.UTC, nil
	}
	return cli.ParseZone(p.tz)
}

// messageTime reads a time of a message; "" is none. In the zone of --tz it is a local time, which
// the submit reads.
func (p *program) messageTime(field, text string) (cli.When, client.LocalTime, error) {
	var local client.LocalTime
	if text == "" {
		return cli.When{}, local, nil
	}
	if p.tz == "" {
		at, err := p.when(field, text)
		return at, local, err
	}
	if err := message.CheckZone("tz", p.tz); err != nil {
		return cli.When{}, local, err
	}
	if _, err := calendar.ParseLocalTime(text); err == nil {
		return cli.When{}, client.LocalTime{Local: text, Zone: p.tz}, nil
	}
	at, err := cli.ParseTime(field, text, "", p.now())
	return at, local, err
}

// messageMoment is messageTime without "now", which makes no sense for some fields.
func (p *program) messageMoment(field, text string) (time.Time, client.LocalTime, error) {
	at, local, err := p.messageTime(field, text)
	if err == nil && at.Now {
		err = fault.Wrong(field, "%s can't be now: it has to be after send_at", field)
	}
	return at.At, local, err
}

// userFlag adds the required flag --user to a command.
func userFlag(cmd *cobra.Command, user *string) {
	cmd.Flags().StringVar(user, "user", "", "`name` of the user who receives the messages")
	needs(cmd, "user")
}

// categoryFlag adds --category to a command that looks at a user's rules.
func categoryFlag(cmd *cobra.Command, category *string) {
	cmd.Flags().StringVar(category, "category", "", "`name` of a category whose rules apply too")
}

// needs makes a flag required.
func needs(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagRequired(flag); err != nil {
		panic(err) // no such flag: a bug in this program
	}
}

// submitFlags adds the settings of a submit to a command.
func submitFlags(cmd *cobra.Command) {
	changeFlags(cmd, "expire-after", "keep-records", "places-per-day", "reach", "store-full-at")
}

// changeFlags adds further settings, and those about replicas, to a command that changes the store.
func changeFlags(cmd *cobra.Command, further ...string) {
	cmd.Flags().AddFlagSet(cli.SettingFlags(append(further, "wait-replicas", "wait-replicas-timeout")...))
}

// ends reads the ends of a range of times.
func (p *program) ends(ends ...cli.End) error { return cli.ParseEnds(p.tz, p.now(), ends...) }

// when reads a time of the command line; "" is the zero time.
func (p *program) when(field, text string) (cli.When, error) {
	if text == "" {
		return cli.When{}, nil
	}
	return cli.ParseTime(field, text, p.tz, p.now())
}
