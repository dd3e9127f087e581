package deadletters

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, the oldest first.",
		Long:  "List dead letters, the oldest first: messages, then alerts and reports.",
		Example: "  worker dead-letters list\n  worker dead-letters list --user alice --json\n" +
			"  worker dead-letters list --alerts",
		RunE: d.run(func(ctx context.Context, c *client.Client, _ []string) error {
			return d.list(ctx, c, user, alerts)
		}),
	}
	cmd.Flags().BoolVar(&alerts, alertsFlag, false, "only alerts and reports")
	cmd.Flags().StringVar(&user, "user", "", "only those to the user with this `name`")
	return cmd
}

func (d *commands) list(ctx context.Context, c *client.Client, user string, onlyAlerts bool) error {
	some := false
	if !onlyAlerts {
		var err error
		if some, err = d.listMessages(ctx, c, user); err != nil {
			return err
		}
	}
	alerts, err := d.listAlerts(ctx, c, user)
	if err == nil && !some && !alerts && !d.JSON {
		if onlyAlerts {
			return d.Print("There are no dead alerts.\n")
		}
		return d.Print("There are no dead letters.\n")
	}
	return err
}

// listMessages lists the messages that are dead letters, only those to the user unless
// it is "". It reports whether there are any.
func (d *commands) listMessages(ctx context.Context, c *client.Client, user string) (some bool, err error) {
	for s, err := range c.ListDeadLetters(ctx, client.ListDeadLettersQuery{User: user, Limit: pageSize}) {
		line := func(s client.Status) string {
			return fmt.Sprintf("%-*s  %-9s  %5d  %-12s  %-*s  %s  %s\n", cli.TimeWidth, d.time(s.EndedAt),
				s.Status, s.Attempts, s.Reason, cli.TimeWidth, d.time(s.SendAt), s.ID, s.User)
		}
		if err == nil && !some && !d.JSON {
			err = d.Print(d.palette.Dim(fmt.Sprintf("%-*s  %-9s  %5s  %-12s  %-*s  %s",
				cli.TimeWidth, "ended", "status", "tries", "reason", cli.TimeWidth, "send time", "id, user")) + "\n")
		}
		if err := operations.Answer(d.Group, s, err, line); err != nil {
			return some, err
		}
		some = true
	}
	return some, nil
}

// pageSize is how many entries one request reads, or retries or removes.
const pageSize = 1000

func (d *commands) showCommand() *cobra.Command {
	var user, alert string
	var content bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one dead letter, with its last changes.",
		Example: "  worker dead-letters show --user alice order-17\n  worker dead-letters show --user alice order-17 --content",
		Args:    alertOr(oneOf),
		RunE: d.run(func(ctx context.Context, c *client.Client, args []string) error {
			if alert != "" {
				found, err := c.DeadAlert(ctx, alert)
				return operations.Answer(d.Group, found, err, d.describeAlert)
			}
			letter, err := c.DeadLetter(ctx, user, args[0], client.DeadLetterQuery{Content: content})
			return operations.Answer(d.Group, letter, err, d.describe)
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "`name` of the user it was sent to")
	cmd.Flags().BoolVar(&content, "content", false, "show its title, body and data, too")
	addAlertFlag(cmd.Flags(), &alert)
	return cmd
}

// oneOf requires --user and an ID.
func oneOf(cmd *cobra.Command, args []string) error {
	if !cmd.Flag("user").Changed {
		return cli.Usage(cmd, "user", "--user is missing")
	}
	return cli.Argument("ID")(cmd, args)
}

// describe returns a dead letter for a person.
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
	if l.Category != "" {
		line("category", "%s", l.Category)
	}
	if l.Campaign != "" {
		line("campaign", "%s", l.Campaign)
	}
	// Quoted, so that content can't control the terminal.
	if l.Title != "" {
		line("title", "%q", l.Title)
	}
	if l.Body != "" {
		line("body", "%q", l.Body)
	}
	for _, key := range slices.Sorted(maps.Keys(l.Data)) {
		line("data", "%q: %q", key, l.Data[key])
	}
	for _, part := range l.Parts() {
		line(part.Name, "%q", part.Value)
	}
	for _, device := range l.Devices {
		line("device", "%q: %s", device.Device, device.State)
	}
	for _, key := range slices.Sorted(maps.Keys(l.Metadata)) {
		line("metadata", "%q: %q", key, l.Metadata[key])
	}
	return text.String() + picture.StyleFor(d.Stdout, d.Getenv, d.zone).History(l.History)
}
