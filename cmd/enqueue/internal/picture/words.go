package picture

import (
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
)

// inWords says a rule as a person does: "at most 5 in any hour".
func inWords(rule string, limit int) string {
	r, err := sendlimit.ParseRule(rule)
	if err != nil { // of a newer program
		return fmt.Sprintf("at most %d", limit)
	}
	if r.Calendar() {
		return fmt.Sprintf("at most %d in a calendar %s", limit, r.Period)
	}
	length := strings.TrimPrefix(cli.FormatDuration(r.Window), "1 ")
	return fmt.Sprintf("at most %d in any %s", limit, length)
}

// conflictsShown is how many conflicts of a rule a picture lists.
const conflictsShown = 5

// violations lists the rules in the way and the messages they count.
func (s Style) violations(vs []tasks.Violation, at time.Time) []string {
	names := 0
	for _, v := range vs {
		names = max(names, len(v.Rule))
	}
	var lines []string
	for _, v := range vs {
		words := inWords(v.Rule, v.Limit)
		if !v.From.IsZero() {
			words += fmt.Sprintf(" (%s %s %s)", s.Time(v.From.Time), s.glyphs().dash, s.Time(v.Until.Time))
		}
		lines = append(lines, fmt.Sprintf("%s%s%*s  %s:", indent, s.Palette.Yellow(v.Rule), names-len(v.Rule), "", words))
		margin := strings.Repeat(" ", len(indent)+names+4)
		for _, c := range v.Conflicts[:min(conflictsShown, len(v.Conflicts))] {
			lines = append(lines, fmt.Sprintf("%s%s  %s", margin, s.clock(c.SendAt.Time, at), c.ID))
		}
		if more := v.ConflictsTotal - conflictsShown; more > 0 {
			lines = append(lines, fmt.Sprintf("%sand %d more", margin, more))
		}
	}
	return lines
}
