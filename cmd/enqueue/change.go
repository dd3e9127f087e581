package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

func (p *program) cancelCommand(ctx context.Context) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a message",
		Long: `Cancel a message, which works until it is being sent. Its place and its id are
free again. Cancelling twice is not an error.`,
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
	var user, text string
	cmd := &cobra.Command{
		Use:   "move ID",
		Short: "Give a message another send time",
		Long: `Give a message another send time, which works until it is being sent. If the
new time is refused, the message keeps the old one.`,
		Example: `  enqueue move --user alice order-17 --at "$(date -d tomorrow +%F) 12:00" --tz Europe/Berlin
  enqueue move --user alice order-17 --at +2h`,
		Args: cli.Argument("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := p.when("at", text)
			if err != nil {
				return err
			}
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error {
				o, err := s.submitter.Move(ctx, user, args[0], at.At)
				if err != nil {
					return s.diagnose(ctx, err)
				}
				return p.print(answer{Outcome: o, titles: p.titles(ctx, s, o), try: again(cmd, args, o, time.Time{}, time.Time{})})
			})
		},
	}
	userFlag(cmd, &user)
	cmd.Flags().StringVar(&text, "at", "", "new send `time`: RFC 3339, now, +90m, or YYYY-MM-DD HH:MM with --tz")
	needs(cmd, "at")
	changeFlags(cmd, "expire-after", "reach")
	p.timeZoneFlag(cmd)
	return cmd
}
