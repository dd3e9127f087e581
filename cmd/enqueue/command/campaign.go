package command

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func (p *program) campaignCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "campaign", Short: "Count, list, cancel, pause, resume or move the messages of a campaign",
		Long: `Count, list, cancel, pause, resume or move the messages of a campaign: those
submitted with its name. A cancelled campaign accepts no messages until it is
reopened. With accounts, --account names the campaign's account.`,
		Example: `  sendlimit campaign count spring
  sendlimit campaign pause spring
  sendlimit campaign move spring --by 1h --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.campaignList(), p.campaignCancel(), p.campaignMove(),
		p.ofCampaign("count", "Count the messages of a campaign by their statuses", "", `  sendlimit campaign count spring`,
			func(ctx context.Context, c *client.Client, name string) error {
				return p.printCount(ctx, c, client.CampaignStatus{Campaign: name}, "")
			}),
		p.ofCampaign("pause", "Pause a campaign", `Pause a campaign. Its messages keep their places, and are not delivered. Every
worker follows within 4 seconds; messages being sent are still sent. Messages
that expire meanwhile are dropped.`, `  sendlimit campaign pause spring`,
			func(ctx context.Context, c *client.Client, name string) error {
				status, err := c.PauseCampaign(ctx, name, client.PauseCampaignQuery{})
				return p.printCounted(ctx, c, status, err)
			}),
		p.ofCampaign("reopen", "Accept messages for a cancelled campaign again", `Accept messages for a cancelled campaign again. Its cancelled messages stay
cancelled. Every program follows within 4 seconds.`, `  sendlimit campaign reopen spring`,
			func(ctx context.Context, c *client.Client, name string) error {
				status, err := c.ReopenCampaign(ctx, name, client.ReopenCampaignQuery{})
				return p.printCounted(ctx, c, status, err)
			}),
		p.ofCampaign("resume", "Resume a paused campaign", `Resume a paused campaign. Messages whose time has passed are late: each gets the
next free time by the rules. It takes 4 seconds until every worker knows. It can
be stopped and run again. After a stopped run, each message is judged within an
hour.`, `  sendlimit campaign resume spring`,
			func(ctx context.Context, c *client.Client, name string) error {
				return p.campaignWork(c.ResumeCampaign(ctx, name, client.ResumeCampaignQuery{}))
			}),
	)
	return cmd
}

// ofCampaign returns a command that works on the campaign in its argument.
func (p *program) ofCampaign(use, short, long, example string, do func(ctx context.Context, c *client.Client, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " CAMPAIGN", Short: short, Long: long, Example: example,
		RunE: p.Run(func(ctx context.Context, c *client.Client, args []string) error { return do(ctx, c, args[0]) }),
	}
}

// printCounted prints the answer to a change, and counts on if the count is not complete.
func (p *program) printCounted(ctx context.Context, c *client.Client, status client.CampaignStatus, err error) error {
	if err == nil && status.More != "" {
		return p.printCount(ctx, c, status, status.More)
	}
	return printAnswer(p, status, err, p.printCampaign)
}

// printCount counts the messages of a campaign, with a progress, and prints the result. more is
// where an earlier count stopped.
func (p *program) printCount(ctx context.Context, c *client.Client, counted client.CampaignStatus, more string) error {
	bar, seen := cli.StartCount(p.Stderr, "messages counted"), 0
	defer bar.End()
	for status, err := range c.CampaignCounts(ctx, counted.Campaign, client.CountCampaignQuery{More: more}) {
		if err != nil {
			return err
		}
		bar.Add(status.Messages - seen)
		seen, counted = status.Messages, status
	}
	bar.End()
	return printAnswer(p, counted, nil, p.printCampaign)
}

// printCampaign prints the counts of a campaign.
func (p *program) printCampaign(style picture.Style, s client.CampaignStatus) error {
	state := ""
	if !s.PausedSince.IsZero() {
		state = ", paused since " + style.Time(s.PausedSince.Time)
	}
	if !s.EndedAt.IsZero() {
		state += ", cancelled at " + style.Time(s.EndedAt.Time)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "campaign %s: %s%s\n", s.Campaign, message.Count(s.Messages, "message"), state)
	for _, status := range slices.Sorted(maps.Keys(s.Statuses)) {
		fmt.Fprintf(&text, "  %-9s  %s\n", status, cli.Thousands(s.Statuses[status]))
	}
	return p.printf("%s", text.String())
}

func (p *program) campaignList() *cobra.Command {
	cmd := p.ofCampaign("list", "List the messages of a campaign", `List the messages of a campaign with their statuses, a line each, in no particular
order. With --json, each line is a JSON object.`, `  sendlimit campaign list spring`,
		func(ctx context.Context, c *client.Client, name string) error {
			own, err := c.OwnUsage(ctx)
			if err != nil && !errors.Is(err, client.ErrNotFound) {
				return err
			}
			style, err := p.style()
			if err != nil {
				return err
			}
			for m, err := range c.FindMessages(ctx, client.FindMessagesQuery{Campaign: name, Account: own.Account, Limit: page}) {
				switch {
				case err != nil:
					return err
				case m.Account != own.Account: // a campaign of the same name
				case p.JSON:
					err = p.PrintJSON(m)
				default:
					err = p.printf("%s  %-9s  %s to %s\n", style.Time(m.SendAt.Time), m.Status, m.ID, cli.OneLine(m.User, contentWidth))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) campaignCancel() *cobra.Command {
	cmd := p.ofCampaign("cancel", "Cancel the messages of a campaign", `End a campaign: nothing is accepted for it from 4 seconds later on, and all its
messages that are not sent yet are cancelled. It can be stopped and run again.
"campaign reopen" lets it have messages again.`, `  sendlimit campaign cancel spring`,
		func(ctx context.Context, c *client.Client, name string) error {
			return p.campaignWork(c.CancelCampaign(ctx, name, client.CancelCampaignQuery{}))
		})
	changeFlags(cmd, "keep-records")
	return cmd
}

func (p *program) campaignMove() *cobra.Command {
	var by string
	var length time.Duration
	var dryRun bool
	cmd := p.ofCampaign("move", "Move the messages of a campaign by a duration", `Move all messages of a campaign that are not sent yet by a duration. Messages
whose new time is refused keep their places, and are listed.

It can be stopped or killed: the same command continues, and moves no message
twice. --dry-run is a dry run, which judges each message as if only this one
were moved.`, `  sendlimit campaign move spring --by 1h --dry-run
  sendlimit campaign move spring --by -30m`,
		func(ctx context.Context, c *client.Client, name string) error {
			draft := client.CampaignMoveDraft{By: length.String(), DryRun: dryRun}
			return p.campaignWork(c.MoveCampaign(ctx, name, draft, client.MoveCampaignQuery{}))
		})
	cmd.Flags().StringVar(&by, "by", "", "`duration` such as 1h, 90m or -30m; a negative one moves to earlier times")
	needs(cmd, "by")
	move := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if length, err = time.ParseDuration(by); err != nil {
			return fault.Wrong("by", "--by %q is no duration: write 1h, 90m or -30m", fault.Clip(by))
		}
		return move(cmd, args)
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "dry run: show the outcomes, and move nothing")
	changeFlags(cmd, "expire-after", "places-per-day", "reach")
	return cmd
}

// campaignWork shows the progress of work on a campaign, and prints the summary, even if the work
// stopped early.
func (p *program) campaignWork(events iter.Seq2[client.CampaignEvent, error]) error {
	bar := cli.Steps{Out: p.Stderr, What: "messages"}
	defer func() { bar.End() }()
	for event, err := range events {
		switch {
		case err != nil:
		case event.Summary != nil:
			bar.End()
			err = p.printCampaignSummary(*event.Summary)
		case event.Refused != nil:
			err = p.campaignRefusal(bar.Progress, event.Refused.Outcome)
		default:
			bar.Show(event.Progress.Done, event.Progress.Total)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// campaignRefusal prints why a message keeps its place.
func (p *program) campaignRefusal(bar *cli.Progress, o message.Outcome) error {
	out := bar.Above(p.Stdout)
	to := cli.Program{Stdout: out}
	if p.JSON {
		return to.PrintJSON(o)
	}
	return to.Print(fmt.Sprintf("%s message %s to %s: %s\n", cli.NewPalette(out, p.Getenv).Yellow("refused:"), o.ID, cli.OneLine(o.User, contentWidth), o.Detail))
}

// printCampaignSummary prints what was done with a campaign.
func (p *program) printCampaignSummary(s client.CampaignSummary) error {
	if p.JSON {
		return p.PrintJSON(s)
	}
	did := map[string]string{
		message.CampaignCancelled: "cancelled", message.CampaignMoved: "moved by " + s.By, message.CampaignDryRun: "could be moved by " + s.By,
		message.CampaignResumed: "sent as late ones",
	}[s.Outcome]
	var text strings.Builder
	fmt.Fprintf(&text, "campaign %s: of %s, %d %s\n", s.Campaign, message.Count(s.Messages, "message"), s.Done, did)
	for _, why := range slices.Sorted(maps.Keys(s.RefusedBy)) {
		fmt.Fprintf(&text, "  %d refused: %s\n", s.RefusedBy[why], why)
	}
	if s.Gone > 0 {
		fmt.Fprintf(&text, "  %d sent, moved or cancelled meanwhile\n", s.Gone)
	}
	if s.Continued {
		fmt.Fprintf(&text, "  this includes an earlier run\n")
	}
	if !s.Complete {
		fmt.Fprintf(&text, "  it stopped early: run the command again to continue\n")
	}
	return p.printf("%s", text.String())
}
