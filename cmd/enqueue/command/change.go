package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (p *program) cancelCommand(ctx context.Context) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a message",
		Long: `Cancel a message, which works until it is being sent. Its place and its id are
free again. If a delivery may have arrived, the place still counts. Cancelling
twice is not an error.`,
		Example: `  enqueue cancel --user alice order-17`,
		Args:    cli.Argument("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error {
				o, err := s.submitter.Cancel(ctx, user, args[0])
				if err != nil {
					return s.diagnose(ctx, err)
				}
				return p.print(answer{Outcome: o})
			})
		},
	}
	userFlag(cmd, &user)
	changeFlags(cmd, "keep-records")
	return cmd
}

func (p *program) moveCommand(ctx context.Context) *cobra.Command {
	var user, text, until string
	var to message.Move
	cmd := &cobra.Command{
		Use:   "move ID",
		Short: "Give a message another send time",
		Long: `Give a message another send time, which works until it is being sent, and
not after a delivery that may have arrived. If the new time is refused, the
message keeps the old one. With --on-conflict shift it gets the next free time
after the new one instead.`,
		Example: `  enqueue move --user alice order-17 --at "$(date -d tomorrow +%F) 12:00" --tz Europe/Berlin
  enqueue move --user alice order-17 --at +2h
  enqueue move --user alice order-17 --at +2h --on-conflict shift --shift-until +6h`,
		Args: cli.Argument("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := p.when("at", text)
			if err != nil {
				return err
			}
			last, err := p.moment("shift_until", until)
			if err != nil {
				return err
			}
			to.At, to.Now, to.ShiftUntil = at.At, at.Now, last.At
			if err := to.Validate(); err != nil {
				return err
			}
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error {
				o, err := s.submitter.MoveTo(ctx, user, args[0], to)
				if err != nil {
					return s.diagnose(ctx, err)
				}
				return p.print(answer{Outcome: o, titles: p.titles(ctx, s, o), try: again(cmd, args, o, time.Time{}, last.At)})
			})
		},
	}
	userFlag(cmd, &user)
	cmd.Flags().StringVar(&text, "at", "", "new send `time`: RFC 3339, now, +90m, or YYYY-MM-DD HH:MM with --tz")
	cmd.Flags().StringVar(&to.OnConflict, "on-conflict", "", "`what` to do if the time is taken or quiet: refuse, or shift (default refuse)")
	cmd.Flags().StringVar(&until, "shift-until", "", "last `time` that a shift may take (default: a day after --at)")
	cli.Words(cmd.Flags(), "on-conflict", message.OnConflictRefuse, message.OnConflictShift)
	needs(cmd, "at")
	changeFlags(cmd, "expire-after", "places-per-day", "reach")
	p.timeZoneFlag(cmd)
	return cmd
}
