package groups

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// user is shared by the subcommands of user.
type user struct{ *operations.Group }

// User returns the group "sendlimit-worker user".
func User(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use: "user", Short: "List users with settings; change a user's settings; export or erase everything stored about a user.",
		Example: "  sendlimit-worker user set alice --contact ada@example.org\n" +
			"  sendlimit-worker user export alice > alice.ndjson",
	}
	c := user{operations.NewGroup(p, group)}
	group.AddCommand(c.setCommand(), c.listCommand(), c.eraseCommand(), &cobra.Command{
		Use: "show USER", Short: "Show a user's settings and rules.",
		Example: "  sendlimit-worker user show alice\n  sendlimit-worker user show alice --json",
		RunE:    operations.One(c.Group, (*client.Client).UserSettings, c.text),
	}, &cobra.Command{
		Use: "clear USER", Short: "Remove all settings of a user.", Example: "  sendlimit-worker user clear alice",
		Long: "Remove all settings of a user. The user's messages do not change.",
		RunE: c.Run(func(ctx context.Context, api *client.Client, args []string) error {
			settings, err := api.ClearUserSettings(ctx, args[0])
			return operations.Answer(c.Group, settings, err, c.text)
		}),
	}, &cobra.Command{
		Use: "export USER", Short: "Print everything stored about a user, one JSON object a line.",
		Long: "Print everything stored about a user, one JSON object a line: the timeline, the\n" +
			"messages, including ended ones, with their content if it is still stored, the\n" +
			"settings, flags of alerts, dead letters, entries of the watch list, tasks in the\n" +
			"queue, and traces of dry runs. The field list of each line names its list, and the\n" +
			"last line has the counts. Times are in UTC.\n\n" +
			"The exit status is 4 if nothing is stored.",
		Example: "  sendlimit-worker user export alice > alice.ndjson",
		RunE: c.Run(func(ctx context.Context, api *client.Client, args []string) error {
			bar := cli.Steps{Out: c.Stderr, What: "keys looked at"}
			defer bar.End()
			for event, err := range api.ExportUser(ctx, args[0]) {
				switch {
				case err != nil:
				case event.Progress != nil:
					bar.Show(int(event.Progress.Done), int(event.Progress.Total))
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
	})
	return group
}

// text describes settings for a person.
func (c user) text(s client.UserSettings) string { return settingsText(s, c.Palette()) }

func (c user) listCommand() *cobra.Command {
	var r client.ListUsersQuery
	list := &cobra.Command{
		Use: "list", Short: "List the users with settings.",
		Long: "List the users with settings, in the order of the store: not by name, but the same\n" +
			"each time. --json prints an object a line.",
		Example: "  sendlimit-worker user list --blocked\n  sendlimit-worker user list --policy vip --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("policy") && r.Policy == "" {
				return cli.Usage(cmd, "policy", "--policy requires the name of a policy")
			}
			none := "There are no users with settings.\n"
			if r.Blocked || r.Policy != "" {
				none = "No users match.\n"
			}
			r.Limit = pageSize
			return operations.List(c.Group, (*client.Client).ListUsers, r, operations.Table[client.ListedUser]{
				Header: "USER\tPOLICY\tLIMITS\tTIME ZONE\tBLOCKED\tCONTACT", Row: userRow, None: none,
			})(cmd, nil)
		},
	}
	list.Flags().BoolVar(&r.Blocked, "blocked", false, "only blocked users")
	list.Flags().StringVar(&r.Policy, "policy", "", "only users whose settings name the policy of this `name`")
	return list
}

// userRow returns the cells of a user.
func userRow(u client.ListedUser) []string {
	if u.Unreadable {
		return []string{strconv.Quote(u.User), "can't be read: run the newer program that wrote the settings", "", "", "", ""}
	}
	blocked := ""
	if u.Blocked {
		blocked = "blocked"
	}
	return []string{u.User, cmp.Or(u.Policy, policy.DefaultName), strings.Join(u.Limits, ", "), u.TimeZone, blocked, policy.RedactContact(u.Contact)}
}

// eraseFlags are the flags of erase.
type eraseFlags struct {
	yes  bool
	wait string
}

func (c user) eraseCommand() *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use: "erase USER --yes", Short: "Cancel a user's messages, and remove everything stored about the user.",
		Long: "Cancel a user's messages, and remove everything that user export shows. This can't\n" +
			"be undone, so confirm it with --yes. Running it again is safe.\n\n" +
			"Stop submitting for the user first: a message accepted meanwhile may stay.\n" +
			"The command waits for messages being delivered. If that takes longer\n" +
			"than --wait, the exit status is 3 and the queue still has the user's name.\n\n" +
			"Backups keep their data, and so do the files of Redis until it\n" +
			"rewrites them (BGREWRITEAOF, BGSAVE).",
		Example: "  sendlimit-worker user export alice > alice.ndjson\n" +
			"  sendlimit-worker user erase alice --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			wait, err := f.check(args[0])
			if err != nil {
				return err
			}
			return c.With(cmd, func(ctx context.Context, api *client.Client) error { return c.erase(ctx, args[0], api, wait) })
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "confirm that the user is erased")
	cmd.Flags().StringVar(&f.wait, "wait", "1m", "`duration` to wait for messages being delivered")
	return cmd
}

// check requires --yes, and returns how long to wait.
func (f eraseFlags) check(user string) (time.Duration, error) {
	if !f.yes {
		return 0, &cli.UsageError{Detail: fmt.Sprintf(
			"erasing can't be undone: see sendlimit-worker user export, and confirm with sendlimit-worker user erase %q --yes", user)}
	}
	wait, err := calendar.ParseDuration(f.wait)
	if err != nil || wait < 0 {
		return 0, &fault.InvalidError{Field: "wait", Value: f.wait, Want: "a duration such as 90s or 5m, 0s not to wait"}
	}
	return wait, nil
}

func (c user) erase(ctx context.Context, user string, api *client.Client, wait time.Duration) error {
	bar := cli.Steps{Out: c.Stderr, What: "keys looked at"}
	defer bar.End()
	var erased *client.UserErasure
	for event, err := range api.EraseUser(ctx, user, client.EraseUserQuery{Wait: wait.String()}) {
		switch {
		case err != nil:
			return err
		case event.Progress != nil:
			bar.Show(int(event.Progress.Done), int(event.Progress.Total))
		default:
			erased = event.Erasure
		}
	}
	bar.End()
	err := operations.Answer(c.Group, *erased, nil, func(e client.UserErasure) string {
		return fmt.Sprintf("erased %s: %s, %d of them pending, %s and %s of the store, %s of the queue\n",
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
	return fmt.Sprintf("the queue still has the user's name in %s of a worker that is delivering or has died:"+
		" run it again in a few minutes", cli.FormatCount(e.tasks, "task", "tasks"))
}

// Code decides the exit status.
func (e *runningError) Code() fault.Code { return fault.CodeTooLate }
