package account

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// noEvents is the value of --events that removes a callback.
const noEvents = "none"

// openCallbacks returns the callbacks of the store.
func openCallbacks(client redis.UniversalClient, c config.Config) (*callbacks.Registry, error) {
	options := events.Options{Prefix: c.Prefix, Keep: c.EventsKeep, Most: c.EventsMost}
	registry, err := callbacks.NewRegistry(client, options, contact.Callbacks{AllowInternal: c.EventsAllowInternal})
	if err != nil {
		return nil, fmt.Errorf("opening the callbacks: %w", err)
	}
	return registry, nil
}

// setEvents sets or removes the callback of an account. It returns the secret that it made.
func (a *commands) setEvents(ctx context.Context, account, url string) (secret string, err error) {
	if url == noEvents || url == "" {
		if err := a.callbacks.Remove(ctx, account); err != nil {
			return "", fmt.Errorf("removing the callback: %w", err)
		}
		return "", nil
	}
	callback, err := a.callbacks.Set(ctx, account, url, "")
	if err != nil {
		return "", fmt.Errorf("setting the callback: %w", err)
	}
	return callback.Secret, nil
}

// tellSecret prints a new secret, which is not shown again.
func (a *commands) tellSecret(account, secret string) error {
	if secret == "" {
		return nil
	}
	_, err := fmt.Fprintf(a.Stderr, a.Names.Spell("This secret signs the events of account %s. It is not shown again: worker account rotate-events-secret makes another.\n%s\n"), account, secret)
	if err != nil {
		return fmt.Errorf("printing the secret: %w", err)
	}
	return nil
}

func (a *commands) rotateSecretCommand() *cobra.Command {
	var overlap string
	rotate := a.command("rotate-events-secret NAME", "Replace the secret that signs an account's events, and print the new one.", cli.Argument("NAME"),
		func(ctx context.Context, _ *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			length, err := accounts.ParseOverlap(overlap)
			if err != nil {
				return err
			}
			callback, err := a.callbacks.Rotate(ctx, args[0], length)
			if err != nil {
				return fmt.Errorf("rotating the secret: %w", err)
			}
			if a.asJSON {
				return a.PrintJSON(callback)
			}
			return a.Print(callback.Secret + "\n")
		})
	rotate.Flags().StringVar(&overlap, "overlap", calendar.FormatDuration(accounts.DefaultOverlap),
		"how `long` the old secret signs too; 0 ends it at once")
	rotate.Long = "Replace the secret that signs an account's events, and print the new one. For a while\n" +
		"both sign, so that there is time to install the new one."
	rotate.Example = "  worker account rotate-events-secret acme --overlap 1h"
	return rotate
}

// eventsCommand returns the group "worker account events".
func (a *commands) eventsCommand() *cobra.Command {
	group := &cobra.Command{
		Use:   "events",
		Short: "List, retry and remove an account's dead events.",
		Long: "List, retry and remove the dead events of an account: those that its callback did not\n" +
			"accept for too long (events_give_up).",
		Example: "  worker account events list acme\n  worker account events retry acme",
	}
	group.AddCommand(a.listDeadCommand(), a.retryDeadCommand(), a.purgeDeadCommand())
	return group
}

// perCall is how many dead events are read or retried at a time.
const perCall = 1000

func (a *commands) listDeadCommand() *cobra.Command {
	list := a.command("list NAME", "List an account's dead events, the oldest first.", cli.Argument("NAME"),
		func(ctx context.Context, _ *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			for after := ""; ; {
				page, err := a.callbacks.DeadEvents(ctx, args[0], after, perCall)
				if err != nil {
					return fmt.Errorf("listing the dead events: %w", err)
				}
				for _, d := range page.DeadEvents {
					if err := a.printDead(d); err != nil {
						return err
					}
				}
				if after = page.NextCursor; after == "" {
					return nil
				}
			}
		})
	list.Example = "  worker account events list acme --json"
	return list
}

func (a *commands) printDead(d message.DeadEvent) error {
	if a.asJSON {
		return a.PrintJSON(d)
	}
	return a.Print(fmt.Sprintf("%s  %s  message %s to %s, dead since %s: %s\n", d.ID,
		strings.TrimPrefix(d.Event.Type, message.EventPrefix), d.Event.Subject, d.Event.Data.User, cli.FormatTime(d.DeadAt.Time, time.UTC), d.Reason))
}

func (a *commands) retryDeadCommand() *cobra.Command {
	retry := a.command("retry NAME [ID]", "Post an account's dead events again: all, or the one with an id.", accountAndDead,
		func(ctx context.Context, _ *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			total := message.DeadEventsRetry{}
			for {
				done, err := a.callbacks.RetryDead(ctx, args[0], idOf(args), perCall)
				if err != nil {
					return fmt.Errorf("retrying dead events: %w", err)
				}
				total.Retried, total.Left = total.Retried+done.Retried, done.Left
				if done.Retried < perCall {
					break
				}
			}
			if a.asJSON {
				return a.PrintJSON(total)
			}
			return a.Print(fmt.Sprintf("%d dead events are posted again.\n", total.Retried))
		})
	retry.Example = "  worker account events retry acme\n  worker account events retry acme 1795305600000-0"
	return retry
}

func (a *commands) purgeDeadCommand() *cobra.Command {
	purge := a.command("purge NAME [ID]", "Remove an account's dead events: all, or the one with an id.", accountAndDead,
		func(ctx context.Context, _ *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			done, err := a.callbacks.PurgeDead(ctx, args[0], idOf(args))
			if err != nil {
				return fmt.Errorf("removing dead events: %w", err)
			}
			if a.asJSON {
				return a.PrintJSON(done)
			}
			return a.Print(fmt.Sprintf("%d dead events are removed.\n", done.Purged))
		})
	purge.Example = "  worker account events purge acme"
	return purge
}

// accountAndDead requires the name of an account, and accepts the id of a dead event. An empty
// id is refused: it would mean all.
func accountAndDead(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return cli.Usage(c, "name", "NAME is missing")
	case len(args) > 2:
		return cli.Usage(c, "id", fmt.Sprintf("%q is too much: one ID is expected", args[2]))
	case len(args) == 2 && args[1] == "":
		return cli.Usage(c, "id", "ID is empty: give one, or leave it out for all dead events")
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
func callbackText(c message.Callback) string {
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
