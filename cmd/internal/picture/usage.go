package picture

import (
	"fmt"
	"io"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
)

// Usage draws how full each rule is around a time:
//
//	1/minute         ####################  1/1   2026-11-22 11:11:11 to 11:12:11
//	10/calendar_day  ######..............  3/10  2026-11-22 00:00:00 to 2026-11-23 00:00:00
//
// The name of a category comes before its rules.
func Usage(w io.Writer, s Style, u message.Usage) error {
	names, fills := 0, 0
	for _, r := range u.Rules {
		names, fills = max(names, len(name(r))), max(fills, len(fill(r)))
	}
	lines := make([]string, 0, len(u.Rules))
	for _, r := range u.Rules {
		lines = append(lines, fmt.Sprintf("%s%-*s  %s  %-*s  %s", indent, names, name(r), s.bar(r.Used, r.Limit),
			fills, fill(r), s.span(r.From.Time, r.Until.Time)))
	}
	return writeLines(w, lines)
}

func name(r message.RuleUsage) string {
	if r.Category == "" {
		return r.Rule
	}
	return r.Category + " " + r.Rule
}

func fill(r message.RuleUsage) string { return fmt.Sprintf("%d/%d", r.Used, r.Limit) }

// legend explains the characters of a timeline.
func (s Style) legend(quiet bool) string {
	g := s.glyphs()
	entries := []string{
		fmt.Sprintf("%c a send (2 to 9: so many, * more)", g.send),
		fmt.Sprintf("%c free", g.free),
		fmt.Sprintf("%c partly free", g.partly),
		fmt.Sprintf("%c taken", g.taken),
	}
	if quiet {
		entries = append(entries, fmt.Sprintf("%c quiet", g.quiet))
	}
	entries = append(entries, "blank: past")
	return indent + s.Palette.Dim(strings.Join(entries, "   "))
}
