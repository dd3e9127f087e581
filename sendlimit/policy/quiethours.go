package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// MaxQuietHours is the largest number of lines of quiet hours in a policy.
const MaxQuietHours = 50

// QuietHours are the times of the week at which nothing is sent. A moment is quiet if
// the clocks of the zone show a quiet time then: an hour that they skip is not quiet, an
// hour that they show twice is quiet twice. The zero value has no quiet times.
// QuietHours are immutable. In JSON they are a list of their Lines.
type QuietHours struct {
	lines []quietLine
	week  []quietSpan // of all lines: merged, ascending, within one week
}

// quietLine is one line: the same hours of some weekdays. The hours belong to the day on
// which they begin, and end on the next day if until is not after from.
type quietLine struct {
	days        weekdays
	from, until int // minutes of the day, until at most 24 hours
}

// quietSpan is the half-open interval [from, until) of minutes of the week, which
// begins on Monday at 00:00.
type quietSpan struct{ from, until int }

const (
	minutesOfDay  = 24 * 60
	minutesOfWeek = 7 * minutesOfDay
)

// ParseQuietHours reads lines of quiet hours. "22:00-08:00" is every day from 22:00 until
// 08:00 of the next day; "sat,sun 00:00-24:00" and "mon-fri 22:00-07:30" name the days
// on which the hours begin. Lines may overlap, but must leave a minute of the week. The
// error is a *fault.InvalidError for the field "quiet_hours", or fault.InvalidErrors.
func ParseQuietHours(lines ...string) (QuietHours, error) {
	if len(lines) > MaxQuietHours {
		return QuietHours{}, &fault.InvalidError{
			Field: "quiet_hours", Says: fmt.Sprintf("quiet_hours has %d lines: at most %d are allowed", len(lines), MaxQuietHours),
		}
	}
	var h QuietHours
	var wrong fault.InvalidErrors
	for _, written := range lines {
		line, err := parseQuietLine(written)
		wrong.Add(err)
		if err == nil && !slices.Contains(h.lines, line) {
			h.lines = append(h.lines, line)
		}
	}
	h.week = mergeWeek(h.lines)
	if slices.Equal(h.week, []quietSpan{{0, minutesOfWeek}}) {
		wrong.Add(&fault.InvalidError{
			Field: "quiet_hours", Value: h.String(),
			Says: fmt.Sprintf("the quiet hours %s leave no time of the week: nothing could ever be sent", h.String()),
		})
	}
	if len(wrong) > 0 {
		return QuietHours{}, wrong.Err()
	}
	return h, nil
}

// parseQuietLine reads "mon-fri 22:00-07:30" or "22:00-07:30".
func parseQuietLine(written string) (quietLine, error) {
	refused := func(want string) (quietLine, error) {
		return quietLine{}, &fault.InvalidError{Field: "quiet_hours", Value: written, Want: want}
	}
	days, hours, named := strings.Cut(written, " ")
	line := quietLine{days: everyDay}
	if !named {
		hours = written
	} else if line.days = parseWeekdays(days); line.days == 0 {
		return refused("days of mon tue wed thu fri sat sun, such as mon-fri or sat,sun, before the hours")
	}
	from, until, found := strings.Cut(hours, "-")
	var begins, ends bool
	line.from, begins = parseTimeOfDay(from)
	line.until, ends = parseTimeOfDay(until)
	if !found || !begins || !ends || line.from == minutesOfDay {
		return refused("hours such as 22:00-08:00, mon-fri 22:00-07:30 or sat,sun 00:00-24:00")
	}
	if line.from == line.until {
		return refused("hours that end at another time than they begin: a whole day is 00:00-24:00")
	}
	if line.until == 0 {
		line.until = minutesOfDay // the same instant, spelled in one way
	}
	return line, nil
}

// parseTimeOfDay reads HH:MM, up to 24:00, and returns minutes.
func parseTimeOfDay(s string) (minutes int, ok bool) {
	if len(s) != len("00:00") || s[2] != ':' || !keyspace.OnlyBytes(s[:2]+s[3:], "0123456789") {
		return 0, false
	}
	hour, minute := int(s[0]-'0')*10+int(s[1]-'0'), int(s[3]-'0')*10+int(s[4]-'0')
	minutes = hour*60 + minute
	return minutes, minute < 60 && minutes <= minutesOfDay
}

// mergeWeek returns the spans of all lines in one week, merged.
func mergeWeek(lines []quietLine) []quietSpan {
	var spans []quietSpan
	for _, line := range lines {
		for day := range 7 {
			if !line.days.has(day) {
				continue
			}
			span := quietSpan{day*minutesOfDay + line.from, day*minutesOfDay + line.until}
			if line.until < line.from {
				span.until += minutesOfDay
			}
			if span.until > minutesOfWeek { // Sunday's go on into Monday
				spans = append(spans, quietSpan{0, span.until - minutesOfWeek})
				span.until = minutesOfWeek
			}
			spans = append(spans, span)
		}
	}
	slices.SortFunc(spans, func(a, b quietSpan) int { return a.from - b.from })
	var merged []quietSpan
	for _, span := range spans {
		if last := len(merged) - 1; last >= 0 && span.from <= merged[last].until {
			merged[last].until = max(merged[last].until, span.until)
			continue
		}
		merged = append(merged, span)
	}
	return merged
}

// IsZero reports whether there are no quiet hours.
func (h QuietHours) IsZero() bool { return len(h.lines) == 0 }

// Equal reports whether the same times of the week are quiet; the lines may differ.
func (h QuietHours) Equal(other QuietHours) bool { return slices.Equal(h.week, other.week) }

// Lines returns the lines as ParseQuietHours reads them, in the order given and each
// once; nil for none.
func (h QuietHours) Lines() []string {
	if h.IsZero() {
		return nil
	}
	lines := make([]string, len(h.lines))
	for i, line := range h.lines {
		lines[i] = line.String()
	}
	return lines
}

// String returns the lines for a sentence: "mon-fri 22:00-07:30 and sat,sun
// 00:00-24:00"; "" for none.
func (h QuietHours) String() string { return strings.Join(h.Lines(), " and ") }

// String returns the line in its canonical spelling.
func (l quietLine) String() string {
	hours := fmt.Sprintf("%02d:%02d-%02d:%02d", l.from/60, l.from%60, l.until/60, l.until%60)
	if l.days == everyDay {
		return hours
	}
	return l.days.String() + " " + hours
}

// Contains reports whether t is quiet by the clocks of t's location.
func (h QuietHours) Contains(t time.Time) bool {
	minute := (int(t.Weekday())+6)%7*minutesOfDay + t.Hour()*60 + t.Minute()
	return slices.ContainsFunc(h.week, func(s quietSpan) bool { return minute >= s.from && minute < s.until })
}

// MarshalJSON returns the lines as a list.
func (h QuietHours) MarshalJSON() ([]byte, error) {
	lines := h.Lines()
	if lines == nil {
		lines = []string{}
	}
	text, err := json.Marshal(lines)
	if err != nil {
		return nil, fmt.Errorf("quiet hours: %w", err)
	}
	return text, nil
}

// UnmarshalJSON reads a list of lines with ParseQuietHours.
func (h *QuietHours) UnmarshalJSON(text []byte) error {
	var lines []string
	if err := json.Unmarshal(text, &lines); err != nil {
		return fmt.Errorf("quiet hours: %w", err)
	}
	parsed, err := ParseQuietHours(lines...)
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}
