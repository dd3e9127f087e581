package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func (p *program) nextFreeCommand() *cobra.Command {
	var r client.NextFreeQuery
	var user, from string
	cmd := &cobra.Command{
		Use: "next-free", Short: "Show a user's next free times",
		Long: `Show a user's next free times. Each time counts the ones before it as taken, so
messages at all of them would be accepted. A blocked user has no free time. The
throttle of a category is ignored.`,
		Example: `  sendlimit next-free --user alice
  sendlimit next-free --user alice --from +1d --count 3
  sendlimit next-free --user alice --category marketing --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := p.when("from", from)
			if err != nil {
				return err
			}
			r.From = at.At
			if r.Count == 0 {
				return &fault.InvalidError{Field: "count", Value: "0", Want: fmt.Sprintf("1 to %d", sendlimit.MaxNextFree)}
			}
			return p.With(cmd, func(ctx context.Context, c *client.Client) error { return p.nextFree(ctx, c, user, r) })
		},
	}
	userFlag(cmd, &user)
	categoryFlag(cmd, &r.Category)
	cmd.Flags().StringVar(&from, "from", "", "start `time` of the search (default now)")
	cmd.Flags().IntVar(&r.Count, "count", 1, fmt.Sprintf("`number` of times, 1 to %d", sendlimit.MaxNextFree))
	cmd.Flags().AddFlagSet(cli.SettingFlags("places-per-day", "reach"))
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) nextFree(ctx context.Context, c *client.Client, user string, r client.NextFreeQuery) error {
	answer, err := c.NextFree(ctx, user, r)
	if err != nil {
		return err
	}
	style, err := p.style()
	if err != nil {
		return err
	}
	for _, free := range answer.Times {
		if p.JSON {
			err = p.PrintJSON(free)
		} else {
			err = p.printf("%s%s\n", style.Time(free.FreeAt.Time), p.fromNow(free.FreeAt.Time))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case p.JSON || len(answer.Times) == r.Count:
		return nil
	case len(answer.Times) == 0:
		return p.printf("no free time within the reach, or %s is blocked\n", user)
	default:
		return p.printf("no more free times within the reach\n")
	}
}
