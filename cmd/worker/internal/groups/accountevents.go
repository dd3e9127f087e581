package groups

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
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// noEvents is the value of --events that removes a callback.
const noEvents = "none"

// setEvents sets or removes the callback of an account, and shows the account, with the secret if a
// new one was created.
func (a account) setEvents(ctx context.Context, c *client.Client, name, url string) error {
	if url == noEvents || url == "" {
		changed, err := c.RemoveCallback(ctx, name)
		return a.answer(changed, err)
	}
	callback, err := c.SetCallback(ctx, name, client.CallbackDraft{URL: url})
	if err != nil {
		return err
	}
	changed, err := c.Account(ctx, name)
	if err := a.answer(changed.Account, err); err != nil || callback.Secret == "" {
		return err
	}
	return a.Tell("This secret signs the events of account %s. It is not shown again: sendlimit-worker account rotate-events-secret replaces it.\n%s\n", name, callback.Secret)
}

func (a account) rotateSecretCommand() *cobra.Command {
	var overlap string
	rotate := &cobra.Command{
		Use: "rotate-events-secret NAME", Short: "Replace the secret that signs an account's events, and print the new one.",
		Long: "Replace the secret that signs an account's events, and print the new one. For a time,\n" +
			"both sign, so that there is time to install the new one.",
		Example: "  sendlimit-worker account rotate-events-secret acme --overlap 1h",
		RunE: a.Run(func(ctx context.Context, c *client.Client, args []string) error {
			length, err := accounts.ParseOverlap(overlap)
			if err != nil {
				return err
			}
			callback, err := c.RotateCallbackSecret(ctx, args[0], client.SecretRotation{Overlap: length.String()})
			return operations.Answer(a.Group, callback, err, func(callback client.Callback) string { return callback.Secret + "\n" })
		}),
	}
	overlapFlag(rotate, &overlap, "how `long` the old secret signs too; 0 ends it at once")
	return rotate
}

// eventsCommand returns the group "sendlimit-worker account events".
func (a account) eventsCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "events", Short: "List, retry and remove an account's dead events.",
		Long: "List, retry and remove the dead events of an account: its callback did not accept\n" +
			"them in time (events_give_up).",
		Example: "  sendlimit-worker account events list acme\n  sendlimit-worker account events retry acme",
	}
	group.AddCommand(&cobra.Command{
		Use: "list NAME", Short: "List an account's dead events, oldest first.", Example: "  sendlimit-worker account events list acme --json",
		Args: cobra.MatchAll(cli.Argument("NAME"), accountAndDead),
		RunE: a.Run(func(ctx context.Context, c *client.Client, args []string) error {
			return operations.AnswerEach(a.Group, c.ListDeadEvents(ctx, client.ListDeadEventsQuery{Account: args[0], Limit: pageSize}), func(d client.DeadEvent) string {
				return fmt.Sprintf("%s  %s  message %s to %s, dead since %s: %s\n", d.ID,
					strings.TrimPrefix(d.Event.Type, message.EventPrefix), d.Event.Subject, d.Event.Data.User, cli.FormatTime(d.DeadAt.Time, time.UTC), d.Reason)
			}, "")
		}),
	}, &cobra.Command{
		Use: "retry NAME [ID]", Short: "Post an account's dead events again: all, or one.", Args: accountAndDead,
		Example: "  sendlimit-worker account events retry acme\n  sendlimit-worker account events retry acme 1795305600000-0",
		RunE: a.Run(func(ctx context.Context, c *client.Client, args []string) error {
			var total client.DeadEventsRetry
			for more := true; more; {
				done, err := c.RetryDeadEvents(ctx, client.RetryDeadEventsQuery{Account: args[0], ID: idOf(args), Limit: pageSize})
				if err != nil {
					return err
				}
				total.Retried, total.Left, more = total.Retried+done.Retried, done.Left, done.Retried == pageSize
			}
			return operations.Answer(a.Group, total, nil, func(total client.DeadEventsRetry) string {
				return fmt.Sprintf("%d dead events will be posted again.\n", total.Retried)
			})
		}),
	}, &cobra.Command{
		Use: "purge NAME [ID]", Short: "Remove an account's dead events: all, or one.", Args: accountAndDead,
		Example: "  sendlimit-worker account events purge acme",
		RunE: a.Run(func(ctx context.Context, c *client.Client, args []string) error {
			purged, err := c.PurgeDeadEvents(ctx, client.PurgeDeadEventsQuery{Account: args[0], ID: idOf(args)})
			return operations.Answer(a.Group, purged, err, func(done client.DeadEventsPurge) string {
				return fmt.Sprintf("%d dead events removed.\n", done.Purged)
			})
		}),
	})
	return group
}

// accountAndDead requires the name of an account, and accepts the id of a dead event. It refuses an
// empty name, which would mean the key's account, and an empty id, which would mean all.
func accountAndDead(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return cli.Usage(c, "name", "NAME is missing")
	case len(args) > 2:
		return cli.Usage(c, "id", fmt.Sprintf("unexpected argument %q: give one ID", args[2]))
	case len(args) == 2 && args[1] == "":
		return cli.Usage(c, "id", "ID is empty: give an ID, or leave it out for all dead events")
	}
	return nil
}

func idOf(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

// callbackText describes a callback for a person.
func callbackText(c client.Callback) string {
	var s strings.Builder
	at := func(t message.Time) string { return cli.FormatTime(t.Time, time.UTC) }
	fmt.Fprintf(&s, "events: %s\n  - waiting: %d, dead: %d, lost: %d\n", c.URL, c.Waiting, c.Dead, c.Lost)
	if !c.SucceededAt.IsZero() {
		fmt.Fprintf(&s, "  - last success: %s\n", at(c.SucceededAt))
	}
	if !c.FailedAt.IsZero() {
		fmt.Fprintf(&s, "  - last failure: %s, %s\n", at(c.FailedAt), c.Reason)
	}
	if c.Attempts > 0 {
		fmt.Fprintf(&s, "  - failing since %s, %d attempts, next one at %s\n", at(c.Failing), c.Attempts, at(c.NextAt))
	}
	return s.String()
}
