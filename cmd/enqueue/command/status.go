package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
)

func (p *program) statusCommand() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "status ID", Short: "Show the state of a message",
		Long: `Show the state of a message, the reason for it, and its history: at most 16
changes. Records of ended messages are kept for 7 days, unless the workers have
another setting. Title, body and data are shown until the message has ended, and
longer if it failed or is uncertain. With the setting keep_content: true, those
of a delivered message are kept too. Without --api and --redis-url, the last line
names the worker that answered.`,
		Example: `  sendlimit status --user alice order-17
  sendlimit status --user alice order-17 --json`,
		RunE: p.Run(func(ctx context.Context, c *client.Client, args []string) error {
			status, err := c.Message(ctx, user, args[0])
			if err != nil {
				return p.answer(ctx, c, answer{}, err)
			}
			return printAnswer(p, status, nil, p.printStatus)
		}),
	}
	userFlag(cmd, &user)
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) printStatus(style picture.Style, s message.Status) error {
	return p.printf("%s%s%s%s", p.story(style, s), describe(s), style.History(s.History), p.Asked())
}

// contentWidth is the width of a title, a body, or an entry of data.
const contentWidth = 100

// describe returns lines with category, campaign, content, devices and metadata. A delivered
// message has no content.
func describe(s message.Status) string {
	var text strings.Builder
	for _, field := range picture.Said(s, func(text string) string { return text }) {
		fmt.Fprintf(&text, "  %-8s  %s\n", field.Name, cli.OneLine(field.Value, contentWidth))
	}
	return text.String()
}

// story describes a message: a sentence, and lines with details.
func (p *program) story(style picture.Style, s message.Status) string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, "  "+format+"\n", args...) }

	fmt.Fprintf(&text, "%s message %s to %s %s\n", colourOf(style.Palette, s.Status)(s.Status+":"), s.ID, s.User, p.predicate(style, s))
	if why := p.before(style, s); why != "" {
		line("%s", why)
	}
	if s.Uncertain {
		line("an earlier delivery may have arrived")
	}
	if !s.MovedFrom.IsZero() && s.Status != message.StatusMoved {
		line("moved before, from %s", style.Time(s.MovedFrom.Time))
	}
	if !s.PromisedAt.IsZero() && s.Status != message.StatusPostponed {
		line("promised for %s", style.Time(s.PromisedAt.Time))
	}
	if w := s.Window; w != nil {
		line("%s free time from %s until %s", w.Prefer, style.Time(w.From.Time), style.Time(w.Until.Time))
	}
	if !s.RequestedAt.IsZero() {
		line("requested for %s", style.Time(s.RequestedAt.Time))
	}
	if s.ProviderID != "" {
		line("the provider calls it %s", s.ProviderID)
	}
	if s.ProviderSaid != "" {
		line("the provider said: %s", s.ProviderSaid)
	}
	if !s.ExpiresAt.IsZero() && s.EndedAt.IsZero() && s.DeliveredAt.IsZero() {
		line("expires at %s", style.Time(s.ExpiresAt.Time))
	}
	return text.String()
}

// predicate completes the sentence that begins with the message.
func (p *program) predicate(style picture.Style, s message.Status) string {
	at := func(t message.Time) string { return style.Palette.Bold(style.Time(t.Time)) }
	switch s.Status {
	case message.StatusScheduled:
		return fmt.Sprintf("is to be sent at %s%s", at(s.SendAt), p.fromNow(s.SendAt.Time))
	case message.StatusPostponed:
		return fmt.Sprintf("was postponed from %s to %s%s", style.Time(s.PromisedAt.Time), at(s.SendAt), p.fromNow(s.SendAt.Time))
	case message.StatusMoved:
		return fmt.Sprintf("was moved from %s to %s%s", style.Time(s.MovedFrom.Time), at(s.SendAt), p.fromNow(s.SendAt.Time))
	case message.StatusSending:
		return "is being sent now, try number " + strconv.Itoa(s.Attempts)
	case message.StatusDelivered:
		return fmt.Sprintf("was sent at %s, %s", at(s.DeliveredAt), lateness(s))
	case message.StatusDropped:
		return "was not sent: " + p.reason(style, s)
	case message.StatusFailed, message.StatusUncertain:
		return fmt.Sprintf("was given up at %s: %s", at(s.EndedAt), p.reason(style, s))
	default:
		return "was cancelled at " + style.Time(s.EndedAt.Time)
	}
}

// lateness describes how late a delivery was.
func lateness(s message.Status) string {
	late := time.Duration(*s.LatenessMS) * time.Millisecond
	if late == 0 {
		return "on time"
	}
	return cli.FormatDuration(late) + " after its time"
}

// colourOf returns the colour of a status.
func colourOf(palette cli.Palette, status string) func(string) string {
	switch status {
	case message.StatusFailed, message.StatusDropped, message.StatusUncertain:
		return palette.Red
	case message.StatusPostponed, message.StatusMoved, message.StatusCancelled:
		return palette.Yellow
	default:
		return palette.Green
	}
}
