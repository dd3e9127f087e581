package user

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// commands is what the subcommands of user share.
type commands struct{ cli.Program }

// Command returns the group "worker user".
func Command(p cli.Program) *cobra.Command {
	c := commands{p}
	group := &cobra.Command{
		Use:   "user",
		Short: "List users with settings; change a user's settings; export or erase everything stored about a user.",
		Example: "  worker user set alice --contact ada@example.org\n" +
			"  worker user export alice > alice.json",
	}
	group.PersistentFlags().AddFlagSet(cli.StoreFlags())
	group.AddCommand(settingsCommands(p)...)
	group.AddCommand(c.exportCommand(), c.eraseCommand())
	return group
}

func (c commands) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export USER",
		Short: "Print everything stored about a user, as one JSON document.",
		Long: "Print everything stored about a user, as one JSON document: the timeline, the\n" +
			"messages, also those that ended, with their content if it is still kept, the\n" +
			"settings, flags of alerts, dead letters, entries of the watch list, tasks in the\n" +
			"queue, and what dry runs have left. Times are in UTC.\n\n" +
			"The exit status is 4 if nothing is stored.",
		Example: "  worker user export alice > alice.json",
		Args:    cli.Argument("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withUsers(cmd, func(ctx context.Context, users *userdata.Users) error {
				return c.export(ctx, users, args[0])
			})
		},
	}
}

func (c commands) export(ctx context.Context, users *userdata.Users, user string) error {
	bar := newScanBar(c.Stderr)
	document, err := users.Export(ctx, user, bar.update)
	bar.end()
	if err != nil {
		return fmt.Errorf("exporting a user: %w", err)
	}
	if document.Empty() {
		return &userError{code: fault.CodeNotFound, detail: "there is nothing of " + user}
	}
	document.ExportedAt = message.Time{Time: time.Now()}
	return document.Print(c.Stdout)
}

// eraseFlags are the flags of erase.
type eraseFlags struct {
	yes, json bool
	wait      string
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
		Example: "  worker user export alice > alice.json\n" +
			"  worker user erase alice --yes",
		Args: cli.Argument("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Report(f.json, c.confirmErase(cmd, args[0], f))
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "confirm that the user is erased")
	cmd.Flags().BoolVar(&f.json, "json", false, "answer with one line of JSON")
	cmd.Flags().StringVar(&f.wait, "wait", "1m", "how `long` to wait for messages that are being delivered")
	return cmd
}

func (c commands) confirmErase(cmd *cobra.Command, user string, f eraseFlags) error {
	if !f.yes {
		return &cli.UsageError{Detail: fmt.Sprintf(
			"erasing can't be undone: look with worker user export, and confirm with worker user erase %q --yes", user)}
	}
	wait, err := calendar.ParseDuration(f.wait)
	if err != nil || wait < 0 {
		return &fault.InvalidError{Field: "wait", Value: f.wait, Want: "a length of time such as 90s or 5m, 0s not to wait"}
	}
	return c.withUsers(cmd, func(ctx context.Context, users *userdata.Users) error {
		return c.erase(ctx, users, user, wait, f.json)
	})
}

// erasure is the answer of user erase.
type erasure struct {
	Outcome string `json:"outcome"`
	userdata.Erasure
}

func (c commands) erase(ctx context.Context, users *userdata.Users, user string, wait time.Duration, asJSON bool) error {
	bar := newScanBar(c.Stderr)
	e, err := users.Erase(ctx, user, wait, bar.update)
	bar.end()
	if err != nil {
		return fmt.Errorf("erasing a user: %w", err)
	}
	if asJSON {
		err = c.PrintJSON(erasure{Outcome: "erased", Erasure: e})
	} else {
		err = c.Print(fmt.Sprintf("erased %s: %s, %d of them still to come, %s and %s of the store, %s of the queue\n",
			user, cli.FormatCount(e.Messages, "message", "messages"), e.Cancelled, cli.FormatCount(e.Keys, "key", "keys"),
			cli.FormatCount(e.Entries, "entry", "entries"), cli.FormatCount(e.Tasks, "task", "tasks")))
	}
	if err == nil && e.Running > 0 {
		return &userError{code: fault.CodeTooLate, detail: fmt.Sprintf(
			"the queue still has the user's name in %s that a worker has in hand, or had when it died:"+
				" run it again in a few minutes", cli.FormatCount(e.Running, "task", "tasks"))}
	}
	return err
}

// userError is returned if something can't be done for a user.
type userError struct {
	code   fault.Code
	detail string
}

// Error returns the sentence.
func (e *userError) Error() string { return e.detail }

// Code decides the exit status.
func (e *userError) Code() fault.Code { return e.code }

// withUsers calls do with the users of the store that the settings name.
func (c commands) withUsers(cmd *cobra.Command, do func(context.Context, *userdata.Users) error) error {
	return store.With(cmd.Context(), c.Program, cmd.Flags(), func(client redis.UniversalClient, settings config.Config) error {
		b, err := backend.Open(client, store.BackendOptions(settings))
		if err != nil {
			return fmt.Errorf("opening the store: %w", err)
		}
		if err := b.Listen.Load(cmd.Context()); err != nil {
			return err
		}
		users, err := userdata.New(b)
		if err != nil {
			return fmt.Errorf("opening the users: %w", err)
		}
		return do(cmd.Context(), users)
	})
}

// scanBar shows on a terminal how far a scan of the store is.
type scanBar struct {
	out   io.Writer
	shown *cli.Progress // nil until the number of keys is known
	last  int64
}

func newScanBar(w io.Writer) *scanBar { return &scanBar{out: w} }

// update is a userdata.Progress.
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
	}
}
