package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/config"
)

// program is what enqueue gets from its process.
type program struct {
	names   cli.Names
	environ []string // as os.Environ returns it
	now     func() time.Time
	stdin   io.Reader
	stdout  io.Writer // outcomes and answers
	stderr  io.Writer // errors and progress
	temp    string    // folder of temporary files; "" means the system's

	json bool   // flag of every command
	tz   string // flag of the commands that read or show times
}

// run is enqueue without its process.
func run(ctx context.Context, of cli.Program, args []string) error {
	p := &program{
		names: of.Names, environ: of.Environ, now: time.Now, stdin: of.Stdin, stdout: of.Stdout, stderr: of.Stderr,
	}
	return p.run(ctx, args)
}

// run runs a command line. It prints errors as the flags say, unless ctx has ended.
func (p *program) run(ctx context.Context, args []string) error {
	err := cli.Execute(ctx, p.names, p.command(ctx), args)
	if _, printed := errors.AsType[cli.StatusError](err); err == nil || printed || errors.Is(err, context.Canceled) {
		return err
	}
	// The flag may stand after the mistake in the command line.
	if p.json || slices.Contains(args, "--json") {
		return cli.ReportJSON(p.stdout, p.names, err)
	}
	return cli.Report(p.stderr, cli.NewPalette(p.stderr, p.getenv), p.names, err)
}

func (p *program) command(ctx context.Context) *cobra.Command {
	root := &cobra.Command{
		Use:   "enqueue",
		Short: "Submit messages to be sent at a future time.",
		Long: `Submit messages to be sent at a future time, and show what is scheduled. The
rules that limit how many messages a user receives are in the store.

Times are written as RFC 3339 (2040-06-22T11:11:11Z), now, +90m (from now on),
or YYYY-MM-DD HH:MM in the time zone of --tz.

The exit status is 0 for done, 2 for bad usage or input, 3 for refused, 4 for
not found, 5 for a store that can't be used, and 1 for anything unexpected.`,
		Example: `  enqueue push --user alice --at +10m --title "Your table is ready"
  enqueue usage --user alice
  enqueue bulk messages.csv`,
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	flags := root.PersistentFlags()
	flags.BoolVar(&p.json, "json", false, "print outcomes as JSON, one a line")
	config.RegisterFlags(flags, config.Commands)
	root.AddCommand(p.pushCommand(ctx), p.bulkCommand(ctx), p.cancelCommand(ctx), p.moveCommand(ctx), p.editCommand(ctx),
		p.statusCommand(ctx), p.findCommand(ctx), p.listCommand(ctx), p.usageCommand(ctx), p.nextFreeCommand(ctx),
		p.campaignCommand(ctx), p.deviceCommand(ctx), p.eventsCommand(ctx))
	return root
}

// getenv is os.Getenv for the program's environment.
func (p *program) getenv(name string) string {
	value := ""
	for _, entry := range p.environ {
		if rest, found := strings.CutPrefix(entry, name+"="); found {
			value = rest
		}
	}
	return value
}

// style returns how to draw on standard output.
func (p *program) style() (picture.Style, error) {
	zone, err := cli.ParseZone(p.tz)
	return picture.StyleFor(p.stdout, p.getenv, zone), err
}

func (p *program) printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(cli.VisibleTo(p.stdout), format, args...); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// timeZoneFlag adds --tz to a command.
func (p *program) timeZoneFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.tz, "tz", "", "IANA time `zone` of local times, and of times that are shown (default UTC)")
}

// userFlag adds the required flag --user to a command.
func userFlag(cmd *cobra.Command, user *string) {
	cmd.Flags().StringVar(user, "user", "", "`name` of the user who receives the messages")
	needs(cmd, "user")
}

// categoryFlag adds --category to a command that looks at a user's rules.
func categoryFlag(cmd *cobra.Command, category *string) {
	cmd.Flags().StringVar(category, "category", "", "`name` of a category, whose rules apply too")
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

// changeFlags adds further settings, and those about replicas, to a command that changes
// the store.
func changeFlags(cmd *cobra.Command, further ...string) {
	cmd.Flags().AddFlagSet(cli.SettingFlags(append(further, "wait-replicas", "wait-replicas-timeout")...))
}

// when reads a time of the command line; "" is the zero time.
func (p *program) when(field, text string) (cli.When, error) {
	if text == "" {
		return cli.When{}, nil
	}
	return cli.ParseTime(field, text, p.tz, p.now())
}
