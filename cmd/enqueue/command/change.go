package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
)

func (p *program) cancelCommand() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "Cancel a message",
		Long: `Cancel a message, which works until it is being sent. Its place and its id are
free again. If a delivery may have arrived, the place still counts. Cancelling
twice is not an error.`,
		Example: `  enqueue cancel --user alice order-17`,
		RunE: p.Run(func(ctx context.Context, c *client.Client, args []string) error {
			o, err := c.CancelMessage(ctx, user, args[0])
			return p.answer(ctx, c, answer{Outcome: o}, err)
		}),
	}
	userFlag(cmd, &user)
	changeFlags(cmd, "keep-records")
	return cmd
}

func (p *program) moveCommand() *cobra.Command {
	var user, at, until string
	var change client.MessageChange
	cmd := &cobra.Command{
		Use: "move ID", Short: "Give a message another send time",
		Long: `Give a message another send time, which works until it is being sent, and
not after a delivery that may have arrived. If the new time is refused, the
message keeps the old one. With --on-conflict shift it gets the next free time
after the new one instead.`,
		Example: `  enqueue move --user alice order-17 --at "$(date -d tomorrow +%F) 12:00" --tz Europe/Berlin
  enqueue move --user alice order-17 --at +2h
  enqueue move --user alice order-17 --at +2h --on-conflict shift --shift-until +6h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := cli.ParseTime("at", at, p.tz, p.now())
			if err != nil {
				return err
			}
			last, err := p.moment("shift_until", until)
			if err != nil {
				return err
			}
			change.SendAt, change.ShiftUntil = &to.At, last.At
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				o, err := c.Change(ctx, user, args[0], change)
				return p.answer(ctx, c, answer{Outcome: o, try: func(o message.Outcome) string {
					return again(cmd, args, o, time.Time{}, last.At)
				}}, err)
			})
		},
	}
	userFlag(cmd, &user)
	cmd.Flags().StringVar(&at, "at", "", "new send `time`: RFC 3339, now, +90m, or YYYY-MM-DD HH:MM with --tz")
	cmd.Flags().StringVar(&change.OnConflict, "on-conflict", "", "`what` to do if the time is taken or quiet: refuse, or shift (default refuse)")
	cmd.Flags().StringVar(&until, "shift-until", "", "last `time` that a shift may take (default: a day after --at)")
	cli.Words(cmd.Flags(), "on-conflict", message.OnConflictRefuse, message.OnConflictShift)
	needs(cmd, "at")
	changeFlags(cmd, "expire-after", "places-per-day", "reach")
	p.timeZoneFlag(cmd)
	return cmd
}
