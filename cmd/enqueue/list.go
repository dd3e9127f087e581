package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/picture"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (p *program) listCommand(ctx context.Context) *cobra.Command {
	var user, from, to string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List a user's messages",
		Long: `List a user's messages by send time, with what became of them. The list has the
messages to come, late ones included, and sent messages that a rule can still
count. Cancelled, dropped and failed messages are listed at the time when they
were to be sent, for 7 days after their end unless the workers are set
otherwise. enqueue status shows more about one message.`,
		Example: `  enqueue list --user alice
  enqueue list --user alice --from now --to +7d --json
  enqueue list --user alice --from "2026-11-22 00:00" --to "2026-11-23 00:00" --tz Europe/Berlin`,
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
		if !some && !p.json && len(statuses) > 0 {
			some = true
			if err := p.printf("%s\n", style.Palette.Dim(fmt.Sprintf("%-*s  %-9s  %s", cli.TimeWidth, "send time", "status", "id"))); err != nil {
				return err
			}
		}
		for _, status := range statuses {
			if err := p.printListed(style, status); err != nil {
				return err
			}
		}
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

func (p *program) printListed(style picture.Style, s message.Status) error {
	if p.json {
		return printJSON(p.stdout, message.ListedOf(s))
	}
	why := p.reason(style, s)
	if why != "" {
		why = "  " + style.Palette.Dim(why)
	}
	// Pad before colouring: colours have no width.
	return p.printf("%-*s  %s  %s%s\n", cli.TimeWidth, style.Time(s.SendAt.Time),
		colourOf(style.Palette, s.Status)(fmt.Sprintf("%-9s", s.Status)), s.ID, why)
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
