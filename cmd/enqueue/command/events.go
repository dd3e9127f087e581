package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
)

// eventsPage is how many events are read at a time.
const eventsPage = 500

func (p *program) eventsCommand() *cobra.Command {
	var follow bool
	var after string
	cmd := &cobra.Command{
		Use: "events", Short: "Show the events of messages, such as delivered, moved and cancelled",
		Long: `Show the events of accepted messages: delivered, postponed, dropped, failed,
uncertain, moved, replaced or cancelled. With --account only the messages of that account.

Events are stored only while somebody reads them: from two seconds after the
first call of this command until three days after the last one, unless the
workers have another setting.`,
		Example: `  sendlimit events --follow
  sendlimit events --account acme --after 1795305600000-0 --json`,
		RunE: p.Run(func(ctx context.Context, c *client.Client, _ []string) error {
			r := client.EventsRequest{After: cmp.Or(after, "0"), PageSize: eventsPage}
			if follow {
				return p.printEvents(ctx, c.FollowEvents(ctx, r), after)
			}
			return p.printEvents(ctx, c.Events(ctx, r), after)
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show the stored events, and then new ones until the program is stopped")
	cmd.Flags().StringVar(&after, "after", "", "start after the event with this `id` (default: with the oldest stored event)")
	p.timeZoneFlag(cmd)
	return cmd
}

// printEvents prints events after an id, until ctx ends.
func (p *program) printEvents(ctx context.Context, events iter.Seq2[client.Event, error], after string) error {
	for e, err := range events {
		switch {
		case errors.Is(err, client.ErrEventsMissing):
			if err := p.Tell("The event %s is no longer stored: some events after it may be missing.\n", after); err != nil {
				return err
			}
			continue
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if err := printAnswer(p, e, nil, p.printEvent); err != nil {
			return err
		}
		after = e.ID
	}
	return nil
}

// printEvent prints an event of a message.
func (p *program) printEvent(style picture.Style, e client.Event) error {
	what := strings.TrimPrefix(e.Type, message.EventPrefix)
	var more strings.Builder
	if !e.Data.FormerSendAt.IsZero() {
		fmt.Fprintf(&more, ", from %s to %s", style.Time(e.Data.FormerSendAt.Time), style.Time(e.Data.SendAt.Time))
	}
	if e.Data.Reason != "" {
		more.WriteString(": " + e.Data.Reason)
	}
	return p.printf("%s  %s  message %s to %s%s\n", style.Time(e.Time.Time), colourOf(style.Palette, what)(what), e.Data.ID, cli.OneLine(e.Data.User, contentWidth), more.String())
}
