package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/picture"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
)

// around is how much of a timeline is shown on each side of a time, unless the
// flags say otherwise.
const around = 12 * time.Hour

func (p *program) usageCommand(ctx context.Context) *cobra.Command {
	var user, at, from, to string
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show how full a user's rules are, and what is free",
		Long: `Show how full each rule is around a time, and draw the user's timeline: what is
sent, and which stretches of time are free or taken.

Of a sliding rule, the fullest window that contains the time is shown; of a
calendar rule, the period that the time is in. Sent and unsent both count.`,
		Example: `  enqueue usage --user alice
  enqueue usage --user alice --at 2026-11-22T11:11:11Z
  enqueue usage --user alice --from now --to +7d --tz Europe/Berlin`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := sendlimit.UsageRequest{User: user}
			asked, err := p.when("at", at)
			if err != nil {
				return err
			}
			r.At = asked.At
			middle := r.At
			if middle.IsZero() {
				middle = p.now().UTC()
			}
			// Whole minutes, so that the first row begins with one.
			r.From, r.To = middle.Add(-around).Truncate(time.Minute), middle.Add(around).Truncate(time.Minute)
			if err := p.interval(&r.From, &r.To, from, to); err != nil {
				return err
			}
			return p.withSession(ctx, cmd, oneByOne, func(s *session) error { return p.usage(ctx, s, r) })
		},
	}
	userFlag(cmd, &user)
	cmd.Flags().StringVar(&at, "at", "", "`time` to look at the rules around (default now)")
	cmd.Flags().StringVar(&from, "from", "", "first `time` of the timeline (default 12 hours before --at)")
	cmd.Flags().StringVar(&to, "to", "", "`time` where the timeline ends, up to 32 days later (default 12 hours after --at)")
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) usage(ctx context.Context, s *session, r sendlimit.UsageRequest) error {
	usage, err := s.timeline.Usage(ctx, r)
	if err != nil {
		return s.diagnose(ctx, err)
	}
	var sends []sendlimit.Reservation
	err = s.each(ctx, sendlimit.ListRequest{User: r.User, From: r.From, To: r.To}, func(m sendlimit.Reservation) error {
		sends = append(sends, m)
		return nil
	})
	if err != nil {
		return err
	}
	if p.json {
		return printJSON(p.stdout, documentOf(r, usage, sends))
	}
	style, err := p.style()
	if err != nil {
		return err
	}
	if err := p.printf("%s around %s\n\n", style.Palette.Bold(r.User), style.Time(usage.At)); err != nil {
		return err
	}
	if err := picture.Usage(p.stdout, style, usage); err != nil {
		return err
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	drawn := picture.Timeline{From: r.From, To: r.To, Now: usage.Now, At: usage.At, Free: usage.Free}
	for _, m := range sends {
		drawn.Sends = append(drawn.Sends, m.At)
	}
	return drawn.Draw(p.stdout, style)
}

// usageDocument is the answer in JSON. Its rules are spelled as those of a
// violation.
type usageDocument struct {
	User  string           `json:"user"`
	At    tasks.Time       `json:"at"`
	From  tasks.Time       `json:"from"`
	To    tasks.Time       `json:"to"`
	Rules []ruleDocument   `json:"rules"`
	Free  []stretch        `json:"free"`
	Sends []tasks.Conflict `json:"sends"`
}

type ruleDocument struct {
	Rule          string     `json:"rule"`
	Limit         int        `json:"limit"`
	Kind          string     `json:"kind"`
	WindowSeconds int        `json:"window_seconds,omitempty"`
	Used          int        `json:"used"`
	From          tasks.Time `json:"from"`
	Until         tasks.Time `json:"until"`
}

type stretch struct {
	From  tasks.Time `json:"from"`
	Until tasks.Time `json:"until"`
}

func documentOf(r sendlimit.UsageRequest, u sendlimit.Usage, sends []sendlimit.Reservation) usageDocument {
	d := usageDocument{
		User: r.User, At: tasks.Time{Time: u.At}, From: tasks.Time{Time: r.From}, To: tasks.Time{Time: r.To},
		Rules: []ruleDocument{}, Free: []stretch{}, Sends: []tasks.Conflict{},
	}
	for _, rule := range u.Rules {
		kind := "sliding"
		if rule.Rule.Calendar() {
			kind = "calendar"
		}
		d.Rules = append(d.Rules, ruleDocument{
			Rule: rule.Rule.String(), Limit: rule.Rule.Limit, Kind: kind, WindowSeconds: int(rule.Rule.Window / time.Second),
			Used: rule.Used, From: tasks.Time{Time: rule.From}, Until: tasks.Time{Time: rule.Until},
		})
	}
	for _, free := range u.Free {
		d.Free = append(d.Free, stretch{From: tasks.Time{Time: free.From}, Until: tasks.Time{Time: free.Until}})
	}
	for _, m := range sends {
		d.Sends = append(d.Sends, tasks.Conflict{ID: m.ID, SendAt: tasks.Time{Time: m.At}})
	}
	return d
}
