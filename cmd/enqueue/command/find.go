package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (p *program) findCommand(ctx context.Context) *cobra.Command {
	var wanted find.Filter
	var from, until string
	cmd := &cobra.Command{
		Use:   "find [ID]",
		Short: "Find messages without their user",
		Long: `Find messages without their user. With an ID, show what became of the messages
with this id, as enqueue status does: each user may have one. Without, list the
messages to which all the flags apply, in no particular order; without flags,
all messages. Messages are found for 7 days after their end, unless the workers
are set otherwise. With the setting index: false, only messages with a campaign
are found, by it.`,
		Example: `  enqueue find order-17
  enqueue find --campaign spring --status scheduled
  enqueue find --user-prefix "team-7/" --from now --until +1d --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return cli.Usage(cmd, "id", fmt.Sprintf("%q is too much: one ID is expected", args[1]))
			case len(args) == 1 && args[0] == "": // would be all messages
				return cli.Usage(cmd, "id", "ID is empty: give one, or leave it out")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"campaign", "category", "status", "user-prefix", "from", "until"} {
				if cmd.Flags().Changed(name) && cmd.Flag(name).Value.String() == "" {
					return &cli.UsageError{Detail: fmt.Sprintf("--%s has no value: give it one, or leave it out", name), Field: name}
				}
			}
			for _, end := range []struct{ field, text string }{{"from", from}, {"until", until}} {
				if end.text == "" {
					continue
				}
				at, err := p.when(end.field, end.text)
				if err != nil {
					return err
				}
				if at.Now {
					at.At = p.now().UTC()
				}
				if end.field == "from" {
					wanted.From = at.At
				} else {
					wanted.Until = at.At
				}
			}
			if len(args) == 1 {
				wanted.ID = args[0]
			}
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error { return p.find(ctx, s, wanted) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&wanted.Campaign, "campaign", "", "`name` of the messages' campaign")
	flags.StringVar(&wanted.Category, "category", "", "`name` of the messages' category")
	flags.StringVar(&wanted.Status, "status", "", "what became of them: one `word` of "+strings.Join(messages.Statuses(), ", "))
	flags.StringVar(&wanted.UserPrefix, "user-prefix", "", "`text` that the names of their users begin with")
	flags.StringVar(&from, "from", "", "first send `time`")
	flags.StringVar(&until, "until", "", "send `time` to stop before")
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) find(ctx context.Context, s *session, wanted find.Filter) error {
	style, err := p.style()
	if err != nil {
		return err
	}
	some := false
	for cursor := ""; ; {
		found, next, err := s.submitter.Find(ctx, wanted, cursor, page)
		if err != nil {
			return s.diagnose(ctx, err)
		}
		for _, m := range found {
			if err := p.printFound(ctx, s, style, m, wanted.ID != "", !some); err != nil {
				return err
			}
			some = true
		}
		if cursor = next; cursor != "" {
			continue
		}
		switch {
		case some:
			return nil
		case wanted.ID != "":
			return p.print(answer{Outcome: message.NotFound(wanted.ID)})
		case !p.json:
			return p.printf("there are no such messages\n")
		default:
			return nil
		}
	}
}

// printFound prints a message: all of it, or its line in a list.
func (p *program) printFound(ctx context.Context, s *session, style picture.Style, m message.Status, whole, first bool) error {
	switch {
	case whole:
		status, known, err := s.submitter.Status(ctx, m.User, m.ID)
		if err != nil {
			return s.diagnose(ctx, err)
		}
		if !known { // it is gone by now
			return nil
		}
		if p.json {
			return printJSON(p.stdout, status)
		}
		return p.printStatus(status)
	case p.json:
		return printJSON(p.stdout, message.ListedOf(m))
	}
	row := func(at, status, user, id, campaign, category, why string) string {
		return strings.TrimRight(fmt.Sprintf("%-*s  %s  %-16s  %-20s  %-12s  %-12s  %s", cli.TimeWidth, at, status, user, id, campaign, category, why), " ")
	}
	if first {
		header := row("send time", fmt.Sprintf("%-9s", "status"), "user", "id", "campaign", "category", "")
		if err := p.printf("%s\n", style.Palette.Dim(header)); err != nil {
			return err
		}
	}
	return p.printf("%s\n", row(style.Time(m.SendAt.Time), colourOf(style.Palette, m.Status)(fmt.Sprintf("%-9s", m.Status)),
		cli.OneLine(m.User, 64), m.ID, m.Campaign, m.Category, style.Palette.Dim(p.reason(style, m))))
}
