package user

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// commands is what the subcommands of user share.
type commands struct{ *operations.Group }

// Command returns the group "worker user".
func Command(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use:   "user",
		Short: "List users with settings; change a user's settings; export or erase everything stored about a user.",
		Example: "  worker user set alice --contact ada@example.org\n" +
			"  worker user export alice > alice.ndjson",
	}
	c := commands{operations.NewGroup(p, group)}
	group.AddCommand(c.showCommand(), c.setCommand(), c.clearCommand(), c.listCommand(), c.exportCommand(), c.eraseCommand())
	return group
}

func (c commands) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export USER",
		Short: "Print everything stored about a user, one JSON object a line.",
		Long: "Print everything stored about a user, one JSON object a line: the timeline, the\n" +
			"messages, also those that ended, with their content if it is still kept, the\n" +
			"settings, flags of alerts, dead letters, entries of the watch list, tasks in the\n" +
			"queue, and what dry runs have left. Each line says in list what it is an entry of,\n" +
			"and the last line how many there were. Times are in UTC.\n\n" +
			"The exit status is 4 if nothing is stored.",
		Example: "  worker user export alice > alice.ndjson",
		Args:    cli.Argument("USER"),
		RunE: c.Run(func(cmd *cobra.Command, args []string, api *client.Client) error {
			bar := &scanBar{out: c.Stderr}
			defer bar.end()
			for event, err := range api.ExportUser(cmd.Context(), args[0]) {
				switch {
				case err != nil:
				case event.Progress != nil:
					bar.update(event.Progress.Done, event.Progress.Total)
				case event.Entry != nil:
					err = c.PrintJSON(event.Entry)
				default:
					err = c.PrintJSON(event.Export)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

// eraseFlags are the flags of erase.
type eraseFlags struct {
	yes  bool
	wait string
}

func (c commands) eraseCommand() *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use:   "erase USER --yes",
		Short: "Cancel a user's messages, and remove everything stored about the user.",
		Long: "Cancel a user's messages, and remove everything that user export shows. This can't\n" +
			"be undone, so confirm it with --yes. Running it again is safe.\n\n" +
			"Stop submitting for the user first: a message that is accepted meanwhile may stay.\n" +
			"The command waits for a message that is being delivered. If that takes longer\n" +
			"than --wait, the exit status is 3 and the queue still has the user's name.\n\n" +
			"Backups keep what is in them, and so do the files that Redis writes until it\n" +
			"rewrites them (BGREWRITEAOF, BGSAVE).",
		Example: "  worker user export alice > alice.ndjson\n" +
			"  worker user erase alice --yes",
		Args: cli.Argument("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			wait, err := f.check(args[0])
			if err != nil {
				return c.Report(c.JSON, err)
			}
			return c.Run(func(cmd *cobra.Command, args []string, api *client.Client) error {
				return c.erase(cmd, args[0], api, wait)
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "confirm that the user is erased")
	cmd.Flags().StringVar(&f.wait, "wait", "1m", "how `long` to wait for messages that are being delivered")
	return cmd
}

// check requires --yes, and returns how long to wait.
func (f eraseFlags) check(user string) (time.Duration, error) {
	if !f.yes {
		return 0, &cli.UsageError{Detail: fmt.Sprintf(
			"erasing can't be undone: look with worker user export, and confirm with worker user erase %q --yes", user)}
	}
	wait, err := calendar.ParseDuration(f.wait)
	if err != nil || wait < 0 {
		return 0, &fault.InvalidError{Field: "wait", Value: f.wait, Want: "a length of time such as 90s or 5m, 0s not to wait"}
	}
	return wait, nil
}

func (c commands) erase(cmd *cobra.Command, user string, api *client.Client, wait time.Duration) error {
	bar := &scanBar{out: c.Stderr}
	defer bar.end()
	var erased *client.UserErasure
	for event, err := range api.EraseUser(cmd.Context(), user, client.EraseUserQuery{Wait: wait.String()}) {
		switch {
		case err != nil:
			return err
		case event.Progress != nil:
			bar.update(event.Progress.Done, event.Progress.Total)
		default:
			erased = event.Erasure
		}
	}
	bar.end()
	err := operations.Answer(c.Group, *erased, nil, func(e client.UserErasure) string {
		return fmt.Sprintf("erased %s: %s, %d of them still to come, %s and %s of the store, %s of the queue\n",
			user, cli.FormatCount(e.Messages, "message", "messages"), e.Cancelled, cli.FormatCount(e.Keys, "key", "keys"),
			cli.FormatCount(e.Entries, "entry", "entries"), cli.FormatCount(e.Tasks, "task", "tasks"))
	})
	if err == nil && erased.Running > 0 {
		return &runningError{erased.Running}
	}
	return err
}

// runningError is returned if the queue still has the user's name.
type runningError struct{ tasks int }

// Error says what to do.
func (e *runningError) Error() string {
	return fmt.Sprintf("the queue still has the user's name in %s that a worker has in hand, or had when it died:"+
		" run it again in a few minutes", cli.FormatCount(e.tasks, "task", "tasks"))
}

// Code decides the exit status.
func (e *runningError) Code() fault.Code { return fault.CodeTooLate }

// scanBar shows on a terminal how far a scan of the store is.
type scanBar struct {
	out   io.Writer
	shown *cli.Progress // nil until the number of keys is known
	last  int64
}

func (b *scanBar) update(done, total int64) {
	if b.shown == nil {
		b.shown = cli.StartProgress(b.out, "keys looked at", int(total))
	}
	if done > b.last { // another number of keys the second time
		b.shown.Add(int(done - b.last))
		b.last = done
	}
}

func (b *scanBar) end() {
	if b.shown != nil {
		b.shown.End()
		b.shown = nil
	}
}
