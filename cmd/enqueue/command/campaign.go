package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (p *program) campaignCommand(ctx context.Context) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "campaign",
		Short: "Count, list, cancel, pause, resume or move the messages of a campaign",
		Long: `Count, list, cancel, pause, resume or move the messages of a campaign: those that
were submitted with its name. With accounts, --account says whose campaign it is.`,
		Example: `  enqueue campaign count spring
  enqueue campaign pause spring
  enqueue campaign move spring --by 1h --preview`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.campaignCount(ctx), p.campaignList(ctx), p.campaignCancel(ctx), p.campaignPause(ctx), p.campaignResume(ctx),
		p.campaignMove(ctx))
	return cmd
}

// withCampaign runs do with a campaign.
func (p *program) withCampaign(
	ctx context.Context, cmd *cobra.Command, name string, do func(*session, *campaign.Campaigns, campaign.Campaign) error,
) error {
	return p.withSession(ctx, cmd, oneByOne, func(s *session) error {
		works, err := campaign.New(s.backend)
		if err != nil {
			return fmt.Errorf("opening the campaigns: %w", err)
		}
		if err := do(s, works, campaign.Campaign{Account: s.account, Name: name}); err != nil {
			return s.diagnose(ctx, err)
		}
		return nil
	})
}

func (p *program) campaignCount(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:     "count CAMPAIGN",
		Short:   "Count the messages of a campaign by their statuses",
		Example: `  enqueue campaign count spring`,
		Args:    cli.Argument("CAMPAIGN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withCampaign(ctx, cmd, args[0], func(_ *session, c *campaign.Campaigns, of campaign.Campaign) error {
				counting, end := p.counting()
				status, err := c.Count(ctx, of, counting)
				end()
				if err != nil {
					return fmt.Errorf("counting the messages of a campaign: %w", err)
				}
				return p.printCampaign(status)
			})
		},
	}
}

// counting counts to the end, and shows how far that is, until end is called.
func (p *program) counting() (how campaign.Counting, end func()) {
	bar, seen := cli.StartCount(p.stderr, "messages counted"), 0
	return campaign.Counting{Progress: func(counted int) {
		bar.Add(counted - seen)
		seen = counted
	}}, bar.End
}

// printCampaign prints how many messages a campaign has.
func (p *program) printCampaign(s message.CampaignStatus) error {
	if p.json {
		return printJSON(p.stdout, s)
	}
	style, err := p.style()
	if err != nil {
		return err
	}
	paused := ""
	if !s.PausedSince.IsZero() {
		paused = ", paused since " + style.Time(s.PausedSince.Time)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "campaign %s: %s%s\n", s.Campaign, message.Count(s.Messages, "message"), paused)
	for _, status := range slices.Sorted(maps.Keys(s.Statuses)) {
		fmt.Fprintf(&text, "  %-9s  %s\n", status, cli.Thousands(s.Statuses[status]))
	}
	return p.printf("%s", text.String())
}

func (p *program) campaignList(ctx context.Context) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list CAMPAIGN",
		Short: "List the messages of a campaign",
		Long: `List the messages of a campaign with their statuses, a line each, in an order that
means nothing. With --json, each line is a JSON object.`,
		Example: `  enqueue campaign list spring`,
		Args:    cli.Argument("CAMPAIGN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withCampaign(ctx, cmd, args[0], func(_ *session, c *campaign.Campaigns, of campaign.Campaign) error {
				style, err := p.style()
				if err != nil {
					return err
				}
				err = c.List(ctx, of, func(s message.Status) error {
					if p.json {
						return printJSON(p.stdout, message.ListedOf(s))
					}
					return p.printf("%s  %-9s  %s to %s\n", style.Time(s.SendAt.Time), s.Status, s.ID, cli.OneLine(s.User, contentWidth))
				})
				if err != nil {
					return fmt.Errorf("listing the messages of a campaign: %w", err)
				}
				return nil
			})
		},
	}
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) campaignPause(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:   "pause CAMPAIGN",
		Short: "Pause a campaign",
		Long: `Pause a campaign. Its messages keep their places, which count for others, and are
not delivered. Within 4 seconds every worker follows; what is being sent is sent.
A message that expires meanwhile is dropped.`,
		Example: `  enqueue campaign pause spring`,
		Args:    cli.Argument("CAMPAIGN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withCampaign(ctx, cmd, args[0], func(_ *session, c *campaign.Campaigns, of campaign.Campaign) error {
				counting, end := p.counting()
				status, err := c.Pause(ctx, of, counting)
				end()
				if err != nil {
					return fmt.Errorf("pausing a campaign: %w", err)
				}
				return p.printCampaign(status)
			})
		},
	}
}

func (p *program) campaignResume(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:   "resume CAMPAIGN",
		Short: "Resume a paused campaign",
		Long: `Resume a paused campaign. Messages whose time has passed are judged as late ones:
each gets the next free time under the rules. It takes 4 seconds, until every
worker knows. It can be stopped and run again; of a stopped run, each message is
looked at within an hour.`,
		Example: `  enqueue campaign resume spring`,
		Args:    cli.Argument("CAMPAIGN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.campaignWork(ctx, cmd, args[0], func(_ *session, c *campaign.Campaigns, of campaign.Campaign, w campaign.Watcher) (
				message.CampaignSummary, error,
			) {
				return c.Resume(ctx, of, w)
			})
		},
	}
}

func (p *program) campaignCancel(ctx context.Context) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel CAMPAIGN",
		Short: "Cancel the messages of a campaign",
		Long: `Cancel all messages of a campaign that are not sent yet. It can be stopped, and run
again.`,
		Example: `  enqueue campaign cancel spring`,
		Args:    cli.Argument("CAMPAIGN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.campaignWork(ctx, cmd, args[0], func(s *session, c *campaign.Campaigns, of campaign.Campaign, w campaign.Watcher) (
				message.CampaignSummary, error,
			) {
				return c.Cancel(ctx, s.submitter, of, w)
			})
		},
	}
	changeFlags(cmd, "keep-records")
	return cmd
}

func (p *program) campaignMove(ctx context.Context) *cobra.Command {
	var by string
	var preview bool
	cmd := &cobra.Command{
		Use:   "move CAMPAIGN",
		Short: "Move the messages of a campaign by a length of time",
		Long: `Move all messages of a campaign that are not sent yet by a length of time. Those
whose new time is refused keep their places, and are listed.

It can be stopped and killed: the same command goes on, and moves no message
twice. --preview only judges, each message as if it alone were moved.`,
		Example: `  enqueue campaign move spring --by 1h --preview
  enqueue campaign move spring --by -30m`,
		Args: cli.Argument("CAMPAIGN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			length, err := time.ParseDuration(by)
			if err != nil {
				return fault.Wrong("by", "--by %q is no length of time: write 1h, 90m or -30m", fault.Clip(by))
			}
			if err := message.CheckCampaignMove(length); err != nil {
				return err
			}
			return p.campaignWork(ctx, cmd, args[0], func(s *session, c *campaign.Campaigns, of campaign.Campaign, w campaign.Watcher) (
				message.CampaignSummary, error,
			) {
				if preview {
					return c.Preview(ctx, s.submitter, of, length, w)
				}
				return c.Move(ctx, s.submitter, of, length, w)
			})
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "`length` of time: 1h, 90m or -30m; a negative one moves to earlier times")
	needs(cmd, "by")
	cmd.Flags().BoolVar(&preview, "preview", false, "only show what the outcome would be")
	changeFlags(cmd, "expire-after", "places-per-day", "reach")
	return cmd
}

// campaignWork runs work on a campaign with its progress, and prints the summary, also of work
// that stopped early.
func (p *program) campaignWork(
	ctx context.Context, cmd *cobra.Command, name string,
	work func(*session, *campaign.Campaigns, campaign.Campaign, campaign.Watcher) (message.CampaignSummary, error),
) error {
	return p.withCampaign(ctx, cmd, name, func(s *session, c *campaign.Campaigns, of campaign.Campaign) error {
		var bar *cli.Progress
		seen := 0
		summary, err := work(s, c, of, campaign.Watcher{
			Progress: func(done, total int) {
				if bar == nil {
					bar = cli.ContinueProgress(p.stderr, "messages", done, total)
				} else {
					bar.SetTotal(total)
					bar.Add(done - seen)
				}
				seen = done
			},
			Refused: func(o message.Outcome) error { return p.campaignRefusal(bar, o) },
		})
		if bar != nil {
			bar.End()
		}
		if _, invalid := errors.AsType[*fault.InvalidError](err); invalid {
			return err
		}
		return errors.Join(err, p.printCampaignSummary(summary))
	})
}

// campaignRefusal prints why a message keeps its place.
func (p *program) campaignRefusal(bar *cli.Progress, o message.Outcome) error {
	out := bar.Above(p.stdout)
	var err error
	if p.json {
		encoder := json.NewEncoder(cli.VisibleTo(out))
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(o)
	} else {
		_, err = fmt.Fprintf(cli.VisibleTo(out), "%s message %s to %s: %s\n", cli.NewPalette(out, p.getenv).Yellow("refused:"), o.ID, cli.OneLine(o.User, contentWidth), o.Detail)
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// printCampaignSummary prints what was done with a campaign.
func (p *program) printCampaignSummary(s message.CampaignSummary) error {
	if p.json {
		return printJSON(p.stdout, s)
	}
	did := map[string]string{
		message.CampaignCancelled: "cancelled", message.CampaignMoved: "moved by " + s.By, message.CampaignPreviewed: "could be moved by " + s.By,
		message.CampaignResumed: "sent as late ones",
	}[s.Outcome]
	var text strings.Builder
	fmt.Fprintf(&text, "campaign %s: of %s, %d %s\n", s.Campaign, message.Count(s.Messages, "message"), s.Done, did)
	for _, why := range slices.Sorted(maps.Keys(s.RefusedBy)) {
		fmt.Fprintf(&text, "  %d kept, by %s\n", s.RefusedBy[why], why)
	}
	if s.Gone > 0 {
		fmt.Fprintf(&text, "  %d sent, moved or cancelled meanwhile\n", s.Gone)
	}
	if s.Continued {
		fmt.Fprintf(&text, "  an earlier run was continued, which is counted too\n")
	}
	if !s.Complete {
		fmt.Fprintf(&text, "  it stopped early: the same command goes on\n")
	}
	return p.printf("%s", text.String())
}
