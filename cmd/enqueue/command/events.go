package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

const (
	// eventsPage is how many events are read at a time.
	eventsPage = 500
	// eventsEvery is how often the store is asked for new events.
	eventsEvery = 300 * time.Millisecond
)

func (p *program) eventsCommand(ctx context.Context) *cobra.Command {
	var follow bool
	var after string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show what became of messages: delivered, moved, cancelled and the like",
		Long: `Show what became of messages after they were accepted: delivered, postponed,
dropped, failed, uncertain, moved or cancelled. With --account only the messages
of that account.

Events are written only while somebody wants them: from two seconds after the
first call of this command on, and for three days after the last one, unless the
workers are set otherwise.`,
		Example: `  enqueue events --follow
  enqueue events --account acme --after 1795305600000-0 --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error {
				return s.diagnose(ctx, p.events(ctx, s, after, follow))
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show those that are kept, and then each as it happens, until the program is stopped")
	cmd.Flags().StringVar(&after, "after", "", "begin behind the event with this `id`; by default, or with 0, with the oldest one kept")
	p.timeZoneFlag(cmd)
	return cmd
}

// events prints events after an id.
func (p *program) events(ctx context.Context, s *session, after string, follow bool) error {
	registry, err := callbacks.NewRegistry(s.client, s.backend.Events, contact.Callbacks{})
	if err != nil {
		return fmt.Errorf("opening the events: %w", err)
	}
	log := cmp.Or(s.account, keyspace.Everyone)
	if err := registry.Listen(ctx, log); err != nil {
		return fmt.Errorf("listening to events: %w", err)
	}
	style, err := p.style()
	if err != nil {
		return err
	}
	ticker, listen := time.NewTicker(eventsEvery), time.NewTicker(registry.ListenEvery())
	defer ticker.Stop()
	defer listen.Stop()
	behind := true // events may be missing after an id that is not kept
	for {
		list, gap, err := registry.Log().ReadOn(ctx, log, after, eventsPage)
		if err != nil {
			return fmt.Errorf("reading events: %w", err)
		}
		if gap && behind {
			if _, err := fmt.Fprintf(p.stderr, "Events after %s are not kept any more: some may be missing here.\n", after); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
		for _, e := range list {
			if err := p.printEvent(style, callbacks.EventOf(log, e)); err != nil {
				return err
			}
			after = e.ID
		}
		if behind = len(list) == eventsPage; behind {
			continue
		}
		if !follow {
			return nil
		}
		select {
		case <-ticker.C:
		case <-listen.C:
			if err := registry.Listen(ctx, log); err != nil {
				return fmt.Errorf("listening to events: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *program) printEvent(style picture.Style, e message.Event) error {
	if p.json {
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encoding an event: %w", err)
		}
		return p.printf("%s\n", line)
	}
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
