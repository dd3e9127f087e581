package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// MaxQuietHours is how many lines of quiet hours a policy has at most.
const MaxQuietHours = 50

// QuietHours are the times of the week at which nothing is sent. A moment is quiet
// exactly when the clocks of the zone then show a quiet time: where they skip an
// hour it can't be quiet, and where they show one twice it is quiet twice. The
// zero value is never. It does not change, and JSON has it as its Lines.
type QuietHours struct {
	lines []quietLine
	week  []quietSpan // of all lines: merged, ascending, within one week
}

// quietLine is a line as it was written: the same hours of some weekdays. They
// belong to the day on which they begin, and end on the next one where until is
// not after from.
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

// ParseQuietHours reads quiet hours line by line: "22:00-08:00" is every day, from
// 22:00 until 08:00 of the next; "sat,sun 00:00-24:00" and "mon-fri 22:00-07:30"
// name the days on which they begin. Lines may overlap; together they must leave
// a minute of the week. No lines are no quiet hours. The error is an
// *InvalidError for the field "quiet_hours".
func ParseQuietHours(lines ...string) (QuietHours, error) {
	if len(lines) > MaxQuietHours {
		return QuietHours{}, &fault.InvalidError{
			Field: "quiet_hours", Value: strconv.Itoa(len(lines)) + " lines",
			Want: fmt.Sprintf("at most %d lines", MaxQuietHours),
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
			Want: "hours that leave some time of the week, as nothing could ever be sent otherwise",
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

// parseTimeOfDay reads HH:MM, up to 24:00, as minutes.
func parseTimeOfDay(s string) (minutes int, ok bool) {
	if len(s) != len("00:00") || s[2] != ':' || !keyspace.OnlyBytes(s[:2]+s[3:], "0123456789") {
		return 0, false
	}
	hour, minute := int(s[0]-'0')*10+int(s[1]-'0'), int(s[3]-'0')*10+int(s[4]-'0')
	minutes = hour*60 + minute
	return minutes, minute < 60 && minutes <= minutesOfDay
}

// mergeWeek gives the spans of all lines, merged, in one week.
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

// Equal reports whether the same times of the week are quiet, however they are
// spelled.
func (h QuietHours) Equal(other QuietHours) bool { return slices.Equal(h.week, other.week) }

// Lines returns the quiet hours as ParseQuietHours reads them, in the order in
// which they were given, each once; nil where there are none.
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
// 00:00-24:00"; "" where there are none.
func (h QuietHours) String() string { return strings.Join(h.Lines(), " and ") }

// String returns the line in the one spelling that is shown.
func (l quietLine) String() string {
	hours := fmt.Sprintf("%02d:%02d-%02d:%02d", l.from/60, l.from%60, l.until/60, l.until%60)
	if l.days == everyDay {
		return hours
	}
	return l.days.String() + " " + hours
}

// Contains reports whether t is quiet where the clocks show what they do in t's
// own location.
func (h QuietHours) Contains(t time.Time) bool {
	minute := (int(t.Weekday())+6)%7*minutesOfDay + t.Hour()*60 + t.Minute()
	return slices.ContainsFunc(h.week, func(s quietSpan) bool { return minute >= s.from && minute < s.until })
}

// MarshalJSON returns the lines, a list.
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

// UnmarshalJSON is ParseQuietHours of a list of lines.
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
