package command

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
)

func (p *program) listCommand() *cobra.Command {
	var user, from, until string
	cmd := &cobra.Command{
		Use: "list", Short: "List a user's messages",
		Long: `List a user's messages by send time, with their states, and their titles until
they are delivered. The list has pending and late messages, and sent messages
that a rule can still count. Cancelled, dropped and failed messages are listed at
their send time, for 7 days after their end unless the workers have another
setting. sendlimit status shows more about one message.`,
		Example: `  sendlimit list --user alice
  sendlimit list --user alice --from now --until +7d --json
  sendlimit list --user alice --from "$(date +%F) 00:00" --until "$(date -d tomorrow +%F) 00:00" --tz Europe/Berlin`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := client.ListMessagesQuery{Titles: !p.JSON, Limit: page}
			if err := p.ends(cli.End{Field: "from", Text: from, Into: &r.From}, cli.End{Field: "until", Text: until, Into: &r.Until}); err != nil {
				return err
			}
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				return p.printList(c.ListMessages(ctx, user, r), p.printPage, user+" has no messages in this range\n")
			})
		},
	}
	userFlag(cmd, &user)
	cmd.Flags().StringVar(&from, "from", "", "first `time` (default: that of the oldest message)")
	cmd.Flags().StringVar(&until, "until", "", "end `time`, exclusive (default: the end)")
	p.timeZoneFlag(cmd)
	return cmd
}

// printList prints messages, for a person page by page. It prints none for an empty list.
func (p *program) printList(
	list iter.Seq2[message.Status, error], print func(style picture.Style, page []message.Status, first bool) error, none string,
) error {
	style, err := p.style()
	if err != nil {
		return err
	}
	some, read := false, make([]message.Status, 0, page)
	for m, err := range list {
		switch {
		case err != nil:
			return err
		case p.JSON:
			err = p.PrintJSON(m)
		case len(read) == page:
			err = print(style, read, !some)
			some, read = true, append(read[:0], m)
		default:
			read = append(read, m)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case p.JSON:
		return nil
	case len(read) > 0:
		return print(style, read, !some)
	default:
		return p.printf("%s", none)
	}
}

// titleWidth is the width of a title in a list.
const titleWidth = 40

// printPage prints a page of messages in columns.
func (p *program) printPage(style picture.Style, statuses []message.Status, first bool) error {
	idWidth, categoryWidth := len("id"), len("category")
	for _, status := range statuses {
		idWidth, categoryWidth = max(idWidth, len(status.ID)), max(categoryWidth, len(status.Category))
	}
	// Pad before colouring: colours have no width.
	row := func(at, status, id, category, title, why string) string {
		line := fmt.Sprintf("%-*s  %s  %-*s  %-*s  %s", cli.TimeWidth, at, status, idWidth, id, categoryWidth, category, title)
		return strings.TrimRight(line+"  "+why, " ")
	}
	text := ""
	if first {
		text = style.Palette.Dim(row("send time", fmt.Sprintf("%-9s", "status"), "id", "category", "title", "")) + "\n"
	}
	for _, status := range statuses {
		text += row(style.Time(status.SendAt.Time), colourOf(style.Palette, status.Status)(fmt.Sprintf("%-9s", status.Status)),
			status.ID, status.Category, cli.OneLine(status.Title, titleWidth), style.Palette.Dim(p.reason(style, status))) + "\n"
	}
	return p.Print(text)
}

// page is how many messages are requested at a time.
const page = 1000
