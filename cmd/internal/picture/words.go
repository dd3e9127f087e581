package picture

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// A Field of a message has a name and a value.
type Field struct{ Name, Value string }

// Said returns the content, the options and the devices of a message. Texts of its sender go
// through show.
func Said(s message.Status, show func(string) string) []Field {
	var fields []Field
	add := func(name, text, shown string) {
		if text != "" {
			fields = append(fields, Field{name, shown})
		}
	}
	entries := func(name string, of map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			add(name, key, show(key)+": "+show(of[key]))
		}
	}
	add("category", s.Category, s.Category)
	add("campaign", s.Campaign, s.Campaign)
	add("title", s.Title, show(s.Title))
	add("body", s.Body, show(s.Body))
	entries("data", s.Data)
	for _, part := range s.Parts() {
		add(part.Name, part.Value, show(part.Value))
	}
	for _, device := range s.Devices {
		add("device", device.Device, show(device.Device)+": "+device.State)
	}
	entries("metadata", s.Metadata)
	return fields
}

// inWords describes a rule: "at most 5 in any hour".
func inWords(rule string, limit int) string {
	r, err := policy.ParseRule(rule)
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

// titleWidth is the width of a title in a picture.
const titleWidth = 40

// reasons lists the quiet hours and the rules that forbid the time, with the messages that each
// rule counts.
func (s Style) reasons(o message.Outcome) []string {
	names := 0
	for _, v := range o.Violations {
		names = max(names, len(v.Name()))
	}
	var lines []string
	if q := o.QuietHours; q != nil {
		names = max(names, len(q.Hours))
		lines = append(lines, fmt.Sprintf("%s%s%*s  quiet hours in %s (%s %s %s)", indent, s.Palette.Yellow(q.Hours),
			names-len(q.Hours), "", q.TimeZone, s.Time(q.From.Time), s.glyphs().dash, s.Time(q.Until.Time)))
	}
	for _, v := range o.Violations {
		words := inWords(v.Rule, v.Limit)
		if !v.From.IsZero() {
			words += fmt.Sprintf(" (%s %s %s)", s.Time(v.From.Time), s.glyphs().dash, s.Time(v.Until.Time))
		}
		lines = append(lines, fmt.Sprintf("%s%s%*s  %s:", indent, s.Palette.Yellow(v.Name()), names-len(v.Name()), "", words))
		margin := strings.Repeat(" ", len(indent)+names+4)
		for _, c := range v.Conflicts[:min(conflictsShown, len(v.Conflicts))] {
			lines = append(lines, fmt.Sprintf("%s%s  %s", margin, s.clock(c.SendAt.Time, o.SendAt.Time), strings.TrimRight(c.ID+"  "+cli.OneLine(s.Titles[c.ID], titleWidth), " ")))
		}
		if more := v.ConflictsTotal - conflictsShown; more > 0 {
			lines = append(lines, fmt.Sprintf("%sand %d more", margin, more))
		}
	}
	return lines
}
