package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// answer is an outcome, with the details for its sentence.
type answer struct {
	message.Outcome

	dryRun bool
	// titles has the titles of conflicting messages, by id.
	titles map[string]string
	// try returns a command line that would be accepted, "" for none; nil if none is possible.
	try func(message.Outcome) string
}

// answer prints the API's answer about a message, and returns the error to end with. It returns
// errors other than refusals to the caller.
func (p *program) answer(ctx context.Context, c *client.Client, a answer, err error) error {
	if refusal, refused := errors.AsType[*client.Refusal](err); refused {
		a.Outcome = refusal.Outcome
		a.titles = p.titles(ctx, c, a.Outcome)
	} else if err != nil {
		return err
	}
	return p.print(a)
}

// titles returns the titles of the messages that conflict with a refused one. It ignores failures,
// since a refusal is complete without titles.
func (p *program) titles(ctx context.Context, c *client.Client, o message.Outcome) map[string]string {
	var ids []string
	var first, last time.Time
	for _, v := range o.Violations {
		for _, conflict := range v.Conflicts {
			at := conflict.SendAt.Time
			if len(ids) == 0 || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
			ids = append(ids, conflict.ID)
		}
	}
	if p.JSON || len(ids) == 0 {
		return nil
	}
	titles := make(map[string]string, len(ids))
	for m, err := range c.ListMessages(ctx, o.User, client.ListMessagesQuery{From: first, Until: last.Add(time.Millisecond), Titles: true}) {
		if err != nil {
			return titles
		}
		if slices.Contains(ids, m.ID) {
			titles[m.ID] = m.Title
		}
	}
	return titles
}

// print prints an outcome, and returns the error to end with.
func (p *program) print(a answer) error {
	err := p.printOutcome(a)
	if status := cli.StatusOf(a.Code); err == nil && status != cli.StatusDone {
		err = cli.StatusError(status)
	}
	return err
}

func (p *program) printOutcome(a answer) error {
	if p.JSON {
		return p.PrintJSON(a.Outcome)
	}
	s, err := p.style()
	if err != nil {
		return err
	}
	switch {
	case a.WindowEnd != nil: // a picture has room for one time
		return p.printf("%s %s\n", s.Palette.Yellow("refused:"), a.Detail)
	case len(a.Violations) > 0 || a.QuietHours != nil:
		s.Titles = a.titles
		try := ""
		if a.try != nil {
			try = a.try(a.Outcome)
		}
		return picture.Refusal(p.Stdout, s, a.Outcome, try)
	case a.Code == fault.CodeNotFound:
		return p.printf("%s %s\n", s.Palette.Yellow("not found:"), a.Detail)
	case a.Outcome.Outcome == message.Refused:
		return p.printf("%s %s\n", s.Palette.Yellow("refused:"), a.Detail)
	default:
		return p.printf("%s", p.sentence(s, a))
	}
}

// sentence says what was done.
func (p *program) sentence(s picture.Style, a answer) string {
	done := func(word string) string { return s.Palette.Green(word + ":") }
	switch a.Outcome.Outcome {
	case message.Cancelled:
		if a.Replayed {
			return fmt.Sprintf("%s %s to %s was cancelled before\n", done("cancelled"), a.ID, a.User)
		}
		return fmt.Sprintf("%s %s to %s\n", done("cancelled"), a.ID, a.User)
	case message.Changed:
		return fmt.Sprintf("%s %s to %s, which stays at %s\n", done("changed"), a.ID, a.User, s.Time(a.SendAt.Time))
	case message.Moved:
		if a.SendAt.Equal(a.MovedFrom.Time) {
			return fmt.Sprintf("%s %s to %s is at %s already\n", done("moved"), a.ID, a.User, s.Time(a.SendAt.Time))
		}
		return fmt.Sprintf("%s %s to %s, from %s to %s%s\n", done("moved"), a.ID, a.User,
			s.Time(a.MovedFrom.Time), s.Palette.Bold(s.Time(a.SendAt.Time)), p.fromNow(a.SendAt.Time)) + howChosen(s, a)
	}
	word := "accepted"
	if a.Outcome.Outcome == message.Replaced {
		word = "replaced"
	}
	switch {
	case a.dryRun && a.Replayed:
		word += " before (dry run)"
	case a.dryRun:
		word = "would be " + word + " (dry run)"
	case a.Replayed:
		word += " before"
	}
	text := fmt.Sprintf("%s %s gets a message at %s%s\n", done(word), a.User,
		s.Palette.Bold(s.Time(a.SendAt.Time)), p.fromNow(a.SendAt.Time))
	text += howChosen(s, a)
	if !a.dryRun {
		text += fmt.Sprintf("  id %s\n", a.ID)
	}
	return text
}

// howChosen returns a line about a time that was chosen in a window or by a shift, "" for another.
func howChosen(s picture.Style, a answer) string {
	if w := a.Window; w != nil {
		return fmt.Sprintf("  %s free time from %s until %s\n", w.Prefer, s.Time(w.From.Time), s.Time(w.Until.Time))
	}
	if !a.Shifted {
		return ""
	}
	return fmt.Sprintf("  the next free time after %s\n", s.Time(a.RequestedAt.Time))
}

// fromNow returns how long it is until at by the local clock, "" for the past.
func (p *program) fromNow(at time.Time) string {
	wait := at.Sub(p.now()).Round(time.Second)
	if wait <= 0 {
		return ""
	}
	return fmt.Sprintf(" (in %s)", cli.FormatDuration(wait))
}
