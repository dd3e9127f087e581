package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

func (p *program) usageCommand(ctx context.Context) *cobra.Command {
	var user, category, at, from, to string
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show how full a user's rules are, and what is free",
		Long: `Show how full each rule is around a time, and draw the user's timeline: the
messages, and which stretches of time are free or taken.

A sliding rule shows the fullest window that contains the time, a calendar rule
the period that the time is in. Sent and unsent messages both count.

With --category, the category's rules are shown too, and free means free for a
message of that category, without regard to the category's throttle.`,
		Example: `  enqueue usage --user alice
  enqueue usage --user alice --at +1d
  enqueue usage --user alice --category marketing
  enqueue usage --user alice --from now --to +7d --tz Europe/Berlin`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := sendlimit.UsageRequest{User: user, Category: category}
			if err := message.CheckCategory(category); err != nil {
				return err
			}
			asked, err := p.when("at", at)
			if err != nil {
				return err
			}
			r.At = asked.At
			middle := r.At
			if middle.IsZero() {
				middle = p.now().UTC()
			}
			r.From, r.To = message.UsageSpan(middle)
			if err := p.interval(&r.From, &r.To, from, to); err != nil {
				return err
			}
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error { return p.usage(ctx, s, r) })
		},
	}
	userFlag(cmd, &user)
	categoryFlag(cmd, &category)
	cmd.Flags().StringVar(&at, "at", "", "`time` to look at the rules around (default now)")
	cmd.Flags().StringVar(&from, "from", "", "first `time` of the timeline (default 12 hours before --at)")
	cmd.Flags().StringVar(&to, "to", "", "`time` where the timeline ends, up to 32 days later (default 12 hours after --at)")
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) usage(ctx context.Context, s *session, r sendlimit.UsageRequest) error {
	usage, err := s.submitter.Usage(ctx, r)
	if err != nil {
		return s.diagnose(ctx, err)
	}
	var sends []keyspace.Reservation
	err = s.each(ctx, sendlimit.ListRequest{User: r.User, From: r.From, To: r.To}, func(m keyspace.Reservation) error {
		sends = append(sends, m)
		return nil
	})
	if err != nil {
		return err
	}
	if p.json {
		return printJSON(p.stdout, submit.UsageOf(r, usage, sends))
	}
	style, err := p.style()
	if err != nil {
		return err
	}
	if err := p.printf("%s around %s\n\n", style.Palette.Bold(r.User), style.Time(usage.At)); err != nil {
		return err
	}
	if usage.Blocked {
		if err := p.printf("  %s: nothing more is accepted, whatever the rules leave free\n\n", style.Palette.Red("blocked")); err != nil {
			return err
		}
	}
	if usage.OptedOut {
		if err := p.printf("  %s of the category: nothing of it is accepted\n\n", style.Palette.Red("opted out")); err != nil {
			return err
		}
	}
	if err := picture.Usage(p.stdout, style, usage); err != nil {
		return err
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	drawn := picture.Timeline{From: r.From, To: r.To, Now: usage.Now, At: usage.At, Free: usage.Free, Quiet: usage.Quiet}
	for _, m := range sends {
		drawn.Sends = append(drawn.Sends, m.At)
	}
	return drawn.Draw(p.stdout, style)
}
