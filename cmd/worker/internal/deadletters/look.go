package deadletters

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
)

func (d *commands) listCommand() *cobra.Command {
	var user string
	var alerts bool
	var of selection
	cmd := &cobra.Command{
		Use: "list", Short: "List dead letters, oldest first.",
		Long: "List dead letters, oldest first: messages, then alerts and reports. With --reason\n" +
			"or --campaign, only messages.",
		Example: "  sendlimit-worker dead-letters list\n  sendlimit-worker dead-letters list --user alice --json\n" +
			"  sendlimit-worker dead-letters list --reason unavailable\n  sendlimit-worker dead-letters list --alerts",
		Args: selects(false, cli.NoArguments),
		RunE: d.run(func(ctx context.Context, c *client.Client, _ []string) error {
			return d.list(ctx, c, user, alerts, of)
		}),
	}
	cmd.Flags().BoolVar(&alerts, alertsFlag, false, "only alerts and reports")
	cmd.Flags().StringVar(&user, "user", "", "only of the user with this `name`")
	of.add(cmd.Flags(), "")
	return cmd
}

func (d *commands) list(ctx context.Context, c *client.Client, user string, onlyAlerts bool, of selection) error {
	some, alerts := false, false
	var err error
	if !onlyAlerts {
		query := client.ListDeadLettersQuery{User: user, Reason: of.reason, Campaign: of.campaign, Limit: pageSize}
		if some, err = d.listMessages(ctx, c, query); err != nil {
			return err
		}
	}
	if of == (selection{}) {
		alerts, err = d.listAlerts(ctx, c, user)
	}
	if err == nil && !some && !alerts && !d.JSON {
		if onlyAlerts {
			return d.Print("There are no dead alerts.\n")
		}
		return d.Print("There are no dead letters.\n")
	}
	return err
}

// listMessages lists dead messages. It reports whether there are any.
func (d *commands) listMessages(ctx context.Context, c *client.Client, query client.ListDeadLettersQuery) (some bool, err error) {
	header := fmt.Sprintf("%-*s  %-9s  %5s  %-12s  %-*s  %s", cli.TimeWidth, "ended", "status", "tries", "reason", cli.TimeWidth, "send time", "id, user")
	return lines(d, c.ListDeadLetters(ctx, query), header, func(s client.Status) string {
		return fmt.Sprintf("%-*s  %-9s  %5d  %-12s  %-*s  %s  %s\n", cli.TimeWidth, d.time(s.EndedAt),
			s.Status, s.Attempts, s.Reason, cli.TimeWidth, d.time(s.SendAt), s.ID, s.User)
	})
}

// lines prints a line for each of a list, after a header. It reports whether there are any.
func lines[T any](d *commands, list iter.Seq2[T, error], header string, line func(T) string) (some bool, err error) {
	for entry, err := range list {
		if err == nil && !some && !d.JSON {
			err = d.Print(d.palette.Dim(header) + "\n")
		}
		if err := operations.Answer(d.Group, entry, err, line); err != nil {
			return some, err
		}
		some = true
	}
	return some, nil
}

// pageSize is how many entries one request reads, or retries or removes.
const pageSize = 1000

func (d *commands) showCommand() *cobra.Command {
	var l letters
	var content bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one dead letter, with its history.",
		Example: "  sendlimit-worker dead-letters show --user alice order-17\n  sendlimit-worker dead-letters show --user alice order-17 --content",
		Args:    alertOr(oneOrMany()),
		RunE: d.run(func(ctx context.Context, c *client.Client, args []string) error {
			if l.alert != "" {
				found, err := c.DeadAlert(ctx, l.alert)
				return operations.Answer(d.Group, found, err, d.describeAlert)
			}
			letter, err := c.DeadLetter(ctx, l.user, args[0], client.DeadLetterQuery{Content: content})
			return operations.Answer(d.Group, letter, err, d.describe)
		}),
	}
	l.one(cmd.Flags())
	cmd.Flags().BoolVar(&content, "content", false, "also show title, body and data")
	return cmd
}

// describe describes a dead letter for a person.
func (d *commands) describe(l client.Status) string {
	var text strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&text, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&text, "%s message %s to %s\n", d.palette.Red(l.Status+":"), l.ID, l.User)
	line("ended", "%s", d.time(l.EndedAt))
	line("reason", "%s", l.Reason)
	line("tries", "%d", l.Attempts)
	line("send time", "%s", d.time(l.SendAt))
	for _, at := range []struct {
		name string
		time client.Time
	}{
		{"promised", l.PromisedAt},
		{"requested", l.RequestedAt},
		{"expires", l.ExpiresAt},
	} {
		if !at.time.IsZero() {
			line(at.name, "%s", d.time(at.time))
		}
	}
	for _, field := range picture.Said(l, strconv.Quote) { // quoted, so that content can't control the terminal
		line(field.Name, "%s", field.Value)
	}
	return text.String() + picture.StyleFor(d.Stdout, d.Getenv, d.zone).History(l.History)
}
