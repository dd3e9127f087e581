package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

func (p program) userCommand(ctx context.Context) *cobra.Command {
	group := &cobra.Command{
		Use:   "user",
		Short: "Set what is a user's own; hand out or erase everything that there is of a user.",
		Example: "  worker user set alice --contact ada@example.org\n" +
			"  worker user export alice > alice.json",
	}
	group.PersistentFlags().AddFlagSet(storeFlags())
	group.AddCommand(p.settingsCommands(ctx)...)
	group.AddCommand(p.exportCommand(ctx), p.eraseCommand(ctx))
	return group
}

func (p program) exportCommand(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:   "export USER",
		Short: "Print everything that there is of a user, as one JSON document.",
		Long: "Print everything that there is of a user, as one JSON document: the timeline,\n" +
			"the messages with their content as long as it is kept, those that ended\n" +
			"included, settings, flags of alerts, dead letters, entries of the watch list,\n" +
			"tasks in the queue, and what dry runs have left. Times are in UTC.\n\n" +
			"The exit status is 4 where there is nothing.",
		Example: "  worker user export alice > alice.json",
		Args:    cli.Argument("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withUsers(ctx, cmd.Flags(), func(users *userdata.Users) error {
				return p.exportUser(ctx, users, args[0])
			})
		},
	}
}

func (p program) exportUser(ctx context.Context, users *userdata.Users, user string) error {
	bar := p.scanBar()
	document, err := users.Export(ctx, user, bar.update)
	bar.end()
	if err != nil {
		return fmt.Errorf("exporting a user: %w", err)
	}
	if document.Empty() {
		return &userError{code: fault.CodeNotFound, detail: "there is nothing of " + user}
	}
	document.ExportedAt = message.Time{Time: time.Now()}
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("printing the document: %w", err)
	}
	return nil
}

// eraseFlags is what the flags of the command say.
type eraseFlags struct {
	yes, json bool
	wait      string
}

func (p program) eraseCommand(ctx context.Context) *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use:   "erase USER --yes",
		Short: "Cancel a user's messages, and remove everything that there is of the user.",
		Long: "Cancel a user's messages, and remove everything that there is of the user, as\n" +
			"user export shows it. It can't be undone, so it has to be confirmed with --yes.\n" +
			"Running it again is safe.\n\n" +
			"Whoever submits for the user should stop before: what is accepted meanwhile may\n" +
			"stay. A message that is being delivered is waited for; the exit status is 3 where\n" +
			"that takes longer than --wait, and the queue still has the user's name then.\n\n" +
			"Backups, and the files that Redis itself writes until it rewrites them\n" +
			"(BGREWRITEAOF, BGSAVE), keep what was in them.",
		Example: "  worker user export alice > alice.json\n" +
			"  worker user erase alice --yes",
		Args: cli.Argument("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.reported(f.json, p.confirmErase(ctx, cmd.Flags(), args[0], f))
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "really erase")
	cmd.Flags().BoolVar(&f.json, "json", false, "answer with one line of JSON")
	cmd.Flags().StringVar(&f.wait, "wait", "1m", "how `long` to wait for messages that are being delivered")
	return cmd
}

func (p program) confirmErase(ctx context.Context, flags *pflag.FlagSet, user string, f eraseFlags) error {
	if !f.yes {
		return &cli.UsageError{Detail: fmt.Sprintf(
			"erasing can't be undone: look with worker user export, and confirm with worker user erase %q --yes", user)}
	}
	wait, err := config.ParseDuration(f.wait)
	if err != nil || wait < 0 {
		return &fault.InvalidError{Field: "wait", Value: f.wait, Want: "a length of time such as 90s or 5m, 0s not to wait"}
	}
	return p.withUsers(ctx, flags, func(users *userdata.Users) error {
		return p.eraseUser(ctx, users, user, wait, f.json)
	})
}

// erasure is the answer of user erase.
type erasure struct {
	Outcome string `json:"outcome"`
	userdata.Erasure
}

func (p program) eraseUser(ctx context.Context, users *userdata.Users, user string, wait time.Duration, asJSON bool) error {
	bar := p.scanBar()
	e, err := users.Erase(ctx, user, wait, bar.update)
	bar.end()
	if err != nil {
		return fmt.Errorf("erasing a user: %w", err)
	}
	if asJSON {
		err = p.printJSON(erasure{Outcome: "erased", Erasure: e})
	} else {
		err = p.print(fmt.Sprintf("erased %s: %s, %d of them still to come, %s and %s of the store, %s of the queue\n",
			user, count(e.Messages, "message", "messages"), e.Cancelled, count(e.Keys, "key", "keys"),
			count(e.Entries, "entry", "entries"), count(e.Tasks, "task", "tasks")))
	}
	if err == nil && e.Running > 0 {
		return &userError{code: fault.CodeTooLate, detail: fmt.Sprintf(
			"the queue still has the user's name in %s that a worker has in hand, or had when it died:"+
				" run it again in a few minutes", count(e.Running, "task", "tasks"))}
	}
	return err
}

// count is a number of things with their name.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// userError says what could not be done about a user.
type userError struct {
	code   fault.Code
	detail string
}

// Error returns the sentence about it.
func (e *userError) Error() string { return e.detail }

// Code is what decides about the exit status.
func (e *userError) Code() fault.Code { return e.code }

// withUsers calls do with the users of the store that the settings name.
func (p program) withUsers(ctx context.Context, flags *pflag.FlagSet, do func(*userdata.Users) error) error {
	return p.withStore(ctx, flags, func(client redis.UniversalClient, c config.Config) error {
		users, err := userdata.New(client, c.Prefix)
		if err != nil {
			return fmt.Errorf("opening the users: %w", err)
		}
		return do(users)
	})
}

// scanBar shows on a terminal how far a look through the store is.
type scanBar struct {
	program
	shown *progress // once the number of keys is known
	last  int64
}

func (p program) scanBar() *scanBar { return &scanBar{program: p} }

// update is a sendlimit.Progress.
func (b *scanBar) update(done, total int64) {
	if b.shown == nil {
		b.shown = startProgress(b.stderr, "keys looked at", int(total))
	}
	if done > b.last { // another number of keys the second time
		b.shown.done(int(done - b.last))
		b.last = done
	}
}

func (b *scanBar) end() {
	if b.shown != nil {
		b.shown.end()
	}
}
