package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

func (p *program) usageCommand() *cobra.Command {
	var user, category, at, from, until string
	cmd := &cobra.Command{
		Use: "usage", Short: "Show how full a user's rules are, and the free times",
		Long: `Show how full each rule is around a time, and draw the user's timeline: the
messages, and which times are free or taken.

A sliding rule shows the fullest window that contains the time, a calendar rule
the period of the time. Sent and unsent messages both count.

With --category, the category's rules are shown too, and free means free for a
message of that category. The category's throttle is ignored.`,
		Example: `  sendlimit usage --user alice
  sendlimit usage --user alice --at +1d
  sendlimit usage --user alice --category marketing
  sendlimit usage --user alice --from now --until +7d --tz Europe/Berlin`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked, err := p.when("at", at)
			if err != nil {
				return err
			}
			r := client.UsageQuery{Category: category, At: asked.At}
			middle := r.At
			if middle.IsZero() {
				middle = p.now().UTC()
			}
			r.From, r.Until = message.UsageSpan(middle)
			if err := p.ends(cli.End{Field: "from", Text: from, Into: &r.From}, cli.End{Field: "until", Text: until, Into: &r.Until}); err != nil {
				return err
			}
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				usage, err := c.Usage(ctx, user, r)
				return printAnswer(p, usage, err, p.usage)
			})
		},
	}
	userFlag(cmd, &user)
	categoryFlag(cmd, &category)
	cmd.Flags().StringVar(&at, "at", "", "`time` around which the rules are shown (default now)")
	cmd.Flags().StringVar(&from, "from", "", "start `time` of the timeline (default 12 hours before --at)")
	cmd.Flags().StringVar(&until, "until", "", "end `time` of the timeline, up to 32 days later (default 12 hours after --at)")
	p.timeZoneFlag(cmd)
	return cmd
}

// usage draws the usage of a user.
func (p *program) usage(style picture.Style, u client.Usage) error {
	text := fmt.Sprintf("%s around %s\n\n", style.Palette.Bold(u.User), style.Time(u.At.Time))
	if u.Blocked {
		text += fmt.Sprintf("  %s: no message is accepted\n\n", style.Palette.Red("blocked"))
	}
	if u.OptedOut {
		text += fmt.Sprintf("  %s of the category: its messages are refused\n\n", style.Palette.Red("opted out"))
	}
	if err := p.Print(text); err != nil {
		return err
	}
	if err := picture.Usage(p.Stdout, style, u); err != nil {
		return err
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	drawn := picture.Timeline{From: u.From.Time, To: u.Until.Time, Now: p.now(), At: u.At.Time, Free: stretches(u.Free), Quiet: stretches(u.Quiet)}
	for _, m := range u.Sends {
		drawn.Sends = append(drawn.Sends, m.SendAt.Time)
	}
	return drawn.Draw(p.Stdout, style)
}

func stretches(all []client.Stretch) []calendar.Stretch {
	list := make([]calendar.Stretch, len(all))
	for i, s := range all {
		list[i] = calendar.Stretch{From: s.From.Time, Until: s.Until.Time}
	}
	return list
}
