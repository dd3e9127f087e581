package policy

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// misfitsShown is how many misfits a terminal shows. A file or another program receives all.
const misfitsShown = 50

// refitView shows the misfits, the progress and the result of a refit.
type refitView struct {
	cli.Program

	json    bool
	palette cli.Palette
	watched bool // standard output is a terminal
	listed  int
	bar     cli.Steps
}

func newRefitView(p cli.Program, asJSON bool) *refitView {
	return &refitView{
		Program: p, json: asJSON, watched: cli.IsTerminal(p.Stdout), palette: p.Palette(),
		bar: cli.Steps{Out: p.Stderr, What: "parts of the store"},
	}
}

// unlisted returns how many misfits were not shown. JSON is for a program, so it lists all of them
// even on a terminal.
func (v *refitView) unlisted() int {
	if !v.watched || v.json {
		return 0
	}
	return max(0, v.listed-misfitsShown)
}

// misfit prints a misfit.
func (v *refitView) misfit(m message.Misfit) error {
	v.listed++
	if v.unlisted() > 0 {
		return nil
	}
	out := v.Stdout
	if v.watched {
		out = v.bar.Above(out)
	}
	to := cli.Program{Stdout: out}
	if v.json {
		return to.PrintJSON(m)
	}
	return to.Print(v.line(m) + "\n")
}

// line describes a misfit for a person: its time, the broken rule, its user, its id, and the
// action.
func (v *refitView) line(m message.Misfit) string {
	at, became := m.SendAt, ""
	switch m.Outcome {
	case message.Moved:
		at, became = m.MovedFrom, v.palette.Green("moved to "+cli.FormatTime(m.SendAt.Time, time.UTC))
	case message.Cancelled:
		became = v.palette.Green("cancelled")
	case message.MisfitGone:
		became = v.palette.Dim("sent, moved or cancelled meanwhile")
	case message.MisfitKept:
		became = v.palette.Yellow("kept: " + keptBecause(m.Code))
	}
	fields := []string{cli.FormatTime(at.Time, time.UTC), v.palette.Yellow(m.Breaks), m.User, m.ID}
	if became != "" {
		fields = append(fields, became)
	}
	return strings.Join(fields, "  ")
}

func keptBecause(code fault.Code) string {
	switch {
	case code.Shiftable():
		return "no other time is free before it expires"
	case code == fault.CodeBlocked:
		return "the user is blocked"
	case code == fault.CodeOptedOut:
		return "the user has opted out of its category"
	default:
		return string(code)
	}
}

// end prints the summary, even of a refit that stopped early, and returns the error to end with.
func (v *refitView) end(s message.RefitSummary, err error) error {
	v.bar.End()
	switch {
	case err != nil && v.bar.Progress == nil: // it did not start
		return err
	case v.json:
		return errors.Join(err, v.PrintJSON(s))
	case err != nil:
		return errors.Join(err, v.Tell("%s", stoppedEarly(s)))
	default:
		return v.Print(v.sumUp(s))
	}
}

// stoppedEarly describes how far a refit came.
func stoppedEarly(s message.RefitSummary) string {
	text := fmt.Sprintf("stopped after %d of %d parts of the store", s.Next, keyspace.Partitions)
	if s.Outcome == message.DryRun {
		return text + fmt.Sprintf(": %s did not fit\n", cli.FormatCount(s.Misfits, "message", "messages"))
	}
	return text + fmt.Sprintf(": %s so far; run the command again to continue\n", refitted(s))
}

// sumUp returns the summary for a person.
func (v *refitView) sumUp(s message.RefitSummary) string {
	var text strings.Builder
	if more := v.unlisted(); more > 0 {
		fmt.Fprintf(&text, "… and %d more: redirect the output to see all\n", more)
	}
	if s.First > 0 {
		fmt.Fprintf(&text, "This run continued after part %d of %d of the store. With the earlier runs:\n", s.First, keyspace.Partitions)
	}
	do := "do"
	if s.Misfits == 1 {
		do = "does"
	}
	fmt.Fprintf(&text, "%s of %s %s not fit, of %d of %s.\n",
		v.palette.Bold(strconv.Itoa(s.Misfits)), cli.FormatCount(s.Reservations, "pending message", "pending messages"), do,
		s.MisfitUsers, cli.FormatCount(s.Users, "user", "users"))
	names := slices.SortedFunc(maps.Keys(s.MisfitsByRule), func(a, b string) int {
		if n := s.MisfitsByRule[b] - s.MisfitsByRule[a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		fmt.Fprintf(&text, "  %8d  %s\n", s.MisfitsByRule[name], name)
	}
	if b := s.Baseline; b != nil {
		fmt.Fprintf(&text, "Now, under version %d, %s%s.\n", b.Version, cli.FormatCount(b.Misfits, "message does not fit", "messages do not fit"), byRule(b))
	}
	if s.LimitUsers > 0 {
		fmt.Fprintf(&text, "%s a limit without a matching rule in the policy: it applies beside the rules.\n",
			cli.FormatCount(s.LimitUsers, "user has", "users have"))
	}
	if s.UnclearUsers > 0 {
		fmt.Fprintf(&text, "%s skipped: the policy in their settings is missing or unreadable.\n",
			cli.FormatCount(s.UnclearUsers, "user was", "users were"))
	}
	if s.Outcome == message.DryRun {
		text.WriteString("Nothing was changed.\n")
	} else if s.Misfits > 0 {
		fmt.Fprintf(&text, "Of these: %s.\n", refitted(s))
	}
	return text.String()
}

// byRule lists the misfits of the stored policy by rule, for a sentence.
func byRule(b *message.RefitBaseline) string {
	parts := make([]string, 0, len(b.MisfitsByRule))
	for _, name := range slices.Sorted(maps.Keys(b.MisfitsByRule)) {
		parts = append(parts, fmt.Sprintf("%d %s", b.MisfitsByRule[name], name))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// refitted lists the actions.
func refitted(s message.RefitSummary) string {
	parts := []string{}
	for _, p := range []struct {
		n    int
		what string
	}{
		{s.Moved, "moved"},
		{s.Cancelled, "cancelled"},
		{s.Kept, "kept"},
		{s.Gone, "sent, moved or cancelled meanwhile"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

// refitOptions select the action for scheduled messages that do not fit the policy.
type refitOptions struct {
	dryRun bool
	then   string
}

func refitFlags(flags *pflag.FlagSet) *refitOptions {
	o := &refitOptions{}
	flags.BoolVar(&o.dryRun, "dry-run", false, "dry run: apply nothing, and list the scheduled messages that would not fit")
	flags.StringVar(&o.then, "then", "", "`action` for those messages: keep them (default), shift each to"+
		" its next free time, or cancel them")
	cli.Words(flags, "then", string(message.RefitKeep), string(message.RefitShift), string(message.RefitCancel))
	return o
}

// check returns the action.
func (o *refitOptions) check() (message.RefitAction, error) {
	switch {
	case o.then == "":
		return message.RefitKeep, nil
	case o.dryRun:
		return "", &cli.UsageError{Field: "then", Detail: "--dry-run and --then exclude each other"}
	}
	action, err := message.ParseRefitAction(o.then)
	if err != nil {
		return "", fmt.Errorf("reading --then: %w", err)
	}
	return action, nil
}

// watch shows a dry run or a refit.
func (c *commands) watch(events iter.Seq2[client.RefitEvent, error]) error {
	view := newRefitView(c.Program, c.JSON)
	var summary message.RefitSummary
	for event, err := range events {
		switch {
		case err != nil:
			return view.end(summary, err)
		case event.Progress != nil:
			view.bar.Show(event.Progress.Done, keyspace.Partitions)
		case event.Misfit != nil:
			err = view.misfit(*event.Misfit)
		default:
			summary = *event.Summary
		}
		if err != nil {
			return view.end(summary, err)
		}
	}
	return view.end(summary, nil)
}
