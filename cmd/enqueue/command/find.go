package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
)

func (p *program) findCommand() *cobra.Command {
	var wanted client.FindMessagesQuery
	var from, until string
	cmd := &cobra.Command{
		Use: "find [ID]", Short: "Find messages without their user",
		Long: `Find messages without their user. With an ID, show the messages with this id as
sendlimit status does: each user may have one. Without an ID, list the messages
that match all flags, in no particular order; without flags, all messages.
Messages are found for 7 days after their end, unless the workers have another
setting. With the setting index: false, --campaign is required.`,
		Example: `  sendlimit find order-17
  sendlimit find --campaign spring --status scheduled
  sendlimit find --user-prefix "team-7/" --from now --until +1d --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return cli.Usage(cmd, "id", fmt.Sprintf("unexpected argument %q: give one ID", args[1]))
			case len(args) == 1 && args[0] == "": // would be all messages
				return cli.Usage(cmd, "id", "ID is empty: give an ID, or leave it out")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"campaign", "category", "status", "user-prefix", "from", "until"} {
				if cmd.Flags().Changed(name) && cmd.Flag(name).Value.String() == "" {
					return &cli.UsageError{Detail: fmt.Sprintf("--%s has no value: give it one, or leave it out", name), Field: name}
				}
			}
			if err := p.ends(cli.End{Field: "from", Text: from, Into: &wanted.From}, cli.End{Field: "until", Text: until, Into: &wanted.Until}); err != nil {
				return err
			}
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				if len(args) == 1 {
					return p.findMessage(ctx, c, args[0])
				}
				wanted.Limit = page
				return p.printList(c.FindMessages(ctx, wanted), p.printFound, "no messages match\n")
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&wanted.Campaign, "campaign", "", "`name` of the messages' campaign")
	flags.StringVar(&wanted.Category, "category", "", "`name` of the messages' category")
	flags.StringVar(&wanted.Status, "status", "", "`status` of the messages: one of "+strings.Join(messages.Statuses(), ", "))
	flags.StringVar(&wanted.UserPrefix, "user-prefix", "", "`text` that the names of their users begin with")
	flags.StringVar(&from, "from", "", "first send `time`")
	flags.StringVar(&until, "until", "", "send `time` to stop before")
	p.timeZoneFlag(cmd)
	return cmd
}

// findMessage prints the messages with an id.
func (p *program) findMessage(ctx context.Context, c *client.Client, id string) error {
	for status, err := range c.FindMessage(ctx, id, client.FindMessageQuery{}) {
		if err != nil {
			return p.answer(ctx, c, answer{}, err)
		}
		if err := printAnswer(p, status, nil, p.printStatus); err != nil {
			return err
		}
	}
	return nil
}

// printFound prints messages of all users in columns.
func (p *program) printFound(style picture.Style, found []message.Status, first bool) error {
	row := func(at, status, user, id, campaign, category, why string) string {
		return strings.TrimRight(fmt.Sprintf("%-*s  %s  %-16s  %-20s  %-12s  %-12s  %s", cli.TimeWidth, at, status, user, id, campaign, category, why), " ")
	}
	text := ""
	if first {
		text = style.Palette.Dim(row("send time", fmt.Sprintf("%-9s", "status"), "user", "id", "campaign", "category", "")) + "\n"
	}
	for _, m := range found {
		text += row(style.Time(m.SendAt.Time), colourOf(style.Palette, m.Status)(fmt.Sprintf("%-9s", m.Status)),
			cli.OneLine(m.User, 64), m.ID, m.Campaign, m.Category, style.Palette.Dim(p.reason(style, m))) + "\n"
	}
	return p.Print(text)
}
