package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (p *program) listCommand(ctx context.Context) *cobra.Command {
	var user, from, to string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List a user's messages",
		Long: `List a user's messages by send time, with what became of them, and their titles
until they are delivered. The list has the
messages to come, late ones included, and sent messages that a rule can still
count. Cancelled, dropped and failed messages are listed at the time when they
were to be sent, for 7 days after their end unless the workers are set
otherwise. enqueue status shows more about one message.`,
		Example: `  enqueue list --user alice
  enqueue list --user alice --from now --to +7d --json
  enqueue list --user alice --from "$(date +%F) 00:00" --to "$(date -d tomorrow +%F) 00:00" --tz Europe/Berlin`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := sendlimit.ListRequest{User: user}
			if err := p.interval(&r.From, &r.To, from, to); err != nil {
				return err
			}
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error { return p.list(ctx, s, r) })
		},
	}
	userFlag(cmd, &user)
	cmd.Flags().StringVar(&from, "from", "", "first `time` (default: that of the oldest message)")
	cmd.Flags().StringVar(&to, "to", "", "`time` to stop before (default: the end)")
	p.timeZoneFlag(cmd)
	return cmd
}

// interval reads --from and --to. A flag that was not given changes nothing.
func (p *program) interval(from, to *time.Time, fromText, toText string) error {
	for _, end := range []struct {
		field, text string
		into        *time.Time
	}{{"from", fromText, from}, {"to", toText, to}} {
		if end.text == "" {
			continue
		}
		at, err := p.when(end.field, end.text)
		if err != nil {
			return err
		}
		if *end.into = at.At; at.Now {
			*end.into = p.now().UTC().Truncate(time.Millisecond)
		}
	}
	return nil
}

func (p *program) list(ctx context.Context, s *session, r sendlimit.ListRequest) error {
	style, err := p.style()
	if err != nil {
		return err
	}
	r.Limit = page
	for some := false; ; {
		statuses, err := s.submitter.List(ctx, r)
		if err != nil {
			return s.diagnose(ctx, err)
		}
		if p.json {
			err = p.printListedJSON(statuses)
		} else {
			err = p.printPage(ctx, s, style, r.User, statuses, !some)
		}
		if err != nil {
			return err
		}
		some = some || len(statuses) > 0
		if len(statuses) == page {
			last := statuses[page-1]
			r.After = keyspace.Reservation{ID: last.ID, At: last.SendAt.Time}
			continue
		}
		if !some && !p.json {
			return p.printf("%s has no messages there\n", r.User)
		}
		return nil
	}
}

func (p *program) printListedJSON(statuses []message.Status) error {
	for _, status := range statuses {
		if err := printJSON(p.stdout, message.ListedOf(status)); err != nil {
			return err
		}
	}
	return nil
}

// titleWidth is the width of a title in a list.
const titleWidth = 40

// printPage prints a page of messages in columns.
func (p *program) printPage(ctx context.Context, s *session, style picture.Style, user string, statuses []message.Status, first bool) error {
	if len(statuses) == 0 {
		return nil
	}
	ids, idWidth, categoryWidth := make([]string, len(statuses)), len("id"), len("category")
	for i, status := range statuses {
		ids[i] = status.ID
		idWidth, categoryWidth = max(idWidth, len(status.ID)), max(categoryWidth, len(status.Category))
	}
	contents, err := s.submitter.Messages(ctx, user, ids...)
	if err != nil {
		return s.diagnose(ctx, err)
	}
	// Pad before colouring: colours have no width.
	row := func(at, status, id, category, title, why string) string {
		line := fmt.Sprintf("%-*s  %s  %-*s  %-*s  %s", cli.TimeWidth, at, status, idWidth, id, categoryWidth, category, title)
		return strings.TrimRight(line+"  "+why, " ")
	}
	if first {
		header := row("send time", fmt.Sprintf("%-9s", "status"), "id", "category", "title", "")
		if err := p.printf("%s\n", style.Palette.Dim(header)); err != nil {
			return err
		}
	}
	for i, status := range statuses {
		line := row(style.Time(status.SendAt.Time), colourOf(style.Palette, status.Status)(fmt.Sprintf("%-9s", status.Status)),
			status.ID, status.Category, cli.OneLine(contents[i].Title, titleWidth), style.Palette.Dim(p.reason(style, status)))
		if err := p.printf("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// page is how many messages are requested at a time.
const page = 1000

// each calls do with all places of a list, and reads them page by page.
func (s *session) each(ctx context.Context, r sendlimit.ListRequest, do func(keyspace.Reservation) error) error {
	r.Limit = page
	for {
		places, err := s.timeline.List(ctx, r)
		if err != nil {
			return s.diagnose(ctx, err)
		}
		for _, place := range places {
			if err := do(place); err != nil {
				return err
			}
		}
		if len(places) < page {
			return nil
		}
		r.After = places[page-1]
	}
}
