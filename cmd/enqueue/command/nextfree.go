package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (p *program) nextFreeCommand(ctx context.Context) *cobra.Command {
	r := sendlimit.NextFreeRequest{}
	var from string
	cmd := &cobra.Command{
		Use:   "next-free",
		Short: "Show the next times that are free for a user",
		Long: `Show the next times that are free for a user. Each time counts those before it
as taken, so messages at all of them would be accepted. A blocked user has no
free time. The throttle of a category is not asked.`,
		Example: `  enqueue next-free --user alice
  enqueue next-free --user alice --from +1d --count 3
  enqueue next-free --user alice --category marketing --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := message.CheckCategory(r.Category); err != nil {
				return err
			}
			at, err := p.when("from", from)
			if err != nil {
				return err
			}
			r.From = at.At
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error { return p.nextFree(ctx, s, r) })
		},
	}
	userFlag(cmd, &r.User)
	categoryFlag(cmd, &r.Category)
	cmd.Flags().StringVar(&from, "from", "", "`time` to look from (default now)")
	cmd.Flags().IntVar(&r.Count, "count", 1, fmt.Sprintf("`number` of times, 1 to %d", sendlimit.MaxNextFree))
	cmd.Flags().AddFlagSet(cli.SettingFlags("places-per-day", "reach"))
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) nextFree(ctx context.Context, s *session, r sendlimit.NextFreeRequest) error {
	times, err := s.submitter.NextFree(ctx, r)
	if err != nil {
		return s.diagnose(ctx, err)
	}
	style, err := p.style()
	if err != nil {
		return err
	}
	for _, free := range message.FreeTimesOf(r.User, times) {
		if p.json {
			err = printJSON(p.stdout, free)
		} else {
			err = p.printf("%s%s\n", style.Time(free.FreeAt.Time), p.fromNow(free.FreeAt.Time))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case p.json || len(times) == r.Count:
		return nil
	case len(times) == 0:
		return p.printf("none is free as far ahead as messages are taken, or %s is blocked\n", r.User)
	default:
		return p.printf("no more are free as far ahead as messages are taken\n")
	}
}
