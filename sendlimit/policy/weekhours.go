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

// MaxHours is the maximum number of lines in WeekHours.
const MaxHours = 50

// WeekHours are hours of the week, such as quiet hours, as the clocks of a time zone show them: an
// hour that the clocks skip does not occur, an hour that they show twice occurs twice. The zero
// value has no hours. WeekHours are immutable. In JSON they are a list of their Lines.
type WeekHours struct {
	lines []hoursLine
	week  []interval // of all lines: merged, ascending, within one week
}

// hoursLine is one line: the same hours of some weekdays. The hours belong to the day on which they
// begin, and end on the next day if until is not after from.
type hoursLine struct {
	days        weekdays
	from, until int // minutes of the day, until at most 24 hours
}

// interval is a half-open interval [from, until): of minutes of the week, which begins on Monday at
// 00:00, or of days since 1 January 1970.
type interval struct{ from, until int }

const (
	minutesOfDay  = 24 * 60
	minutesOfWeek = 7 * minutesOfDay
)

// ParseQuietHours reads lines of quiet hours. "22:00-08:00" is every day from 22:00 until 08:00 of
// the next day; "sat,sun 00:00-24:00" and "mon-fri 22:00-07:30" name the days on which the hours
// begin. Lines may overlap, but must leave a minute of the week. The error is a *fault.InvalidError
// for the field "quiet_hours", or fault.InvalidErrors.
func ParseQuietHours(lines ...string) (WeekHours, error) {
	const field = "quiet_hours"
	h, wrong := parseHours(field, lines)
	if h.always() {
		wrong.Add(&fault.InvalidError{
			Field: field, Value: h.String(),
			Says: fmt.Sprintf("the quiet hours %s leave no time of the week: nothing could ever be sent", h.String()),
		})
	}
	if len(wrong) > 0 {
		return WeekHours{}, wrong.Err()
	}
	return h, nil
}

// ParseAllowedHours reads lines as ParseQuietHours does, for the field "only": nothing is sent at
// other times. The lines may cover the whole week.
func ParseAllowedHours(lines ...string) (WeekHours, error) {
	h, wrong := parseHours("only", lines)
	if len(wrong) > 0 {
		return WeekHours{}, wrong.Err()
	}
	return h, nil
}

// parseHours reads lines of hours. With errors, which name the field, it returns the hours of the
// lines that it could read.
func parseHours(field string, lines []string) (WeekHours, fault.InvalidErrors) {
	if len(lines) > MaxHours {
		return WeekHours{}, fault.InvalidErrors{{
			Field: field, Says: fmt.Sprintf("%s has %d lines: at most %d are allowed", field, len(lines), MaxHours),
		}}
	}
	var h WeekHours
	var wrong fault.InvalidErrors
	for _, written := range lines {
		line, err := parseHoursLine(field, written)
		wrong.Add(err)
		if err == nil && !slices.Contains(h.lines, line) {
			h.lines = append(h.lines, line)
		}
	}
	var spans []interval
	for _, line := range h.lines {
		spans = append(spans, line.spans()...)
	}
	h.week = merge(spans)
	return h, wrong
}

// parseHoursLine reads "mon-fri 22:00-07:30" or "22:00-07:30".
func parseHoursLine(field, written string) (hoursLine, error) {
	refused := func(want string) (hoursLine, error) {
		return hoursLine{}, &fault.InvalidError{Field: field, Value: written, Want: want}
	}
	days, hours, named := strings.Cut(written, " ")
	line := hoursLine{days: everyDay}
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
		line.until = minutesOfDay // the same instant in its canonical form
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

// spans returns the minutes of the week of a line.
func (l hoursLine) spans() []interval {
	var spans []interval
	for day := range 7 {
		if !l.days.has(day) {
			continue
		}
		span := interval{day*minutesOfDay + l.from, day*minutesOfDay + l.until}
		if l.until < l.from {
			span.until += minutesOfDay
		}
		if span.until > minutesOfWeek { // Sunday's hours end on Monday
			spans = append(spans, interval{0, span.until - minutesOfWeek})
			span.until = minutesOfWeek
		}
		spans = append(spans, span)
	}
	return spans
}

// merge sorts intervals and joins those that touch or overlap.
func merge(spans []interval) []interval {
	slices.SortFunc(spans, func(a, b interval) int { return a.from - b.from })
	var merged []interval
	for _, span := range spans {
		if last := len(merged) - 1; last >= 0 && span.from <= merged[last].until {
			merged[last].until = max(merged[last].until, span.until)
			continue
		}
		merged = append(merged, span)
	}
	return merged
}

// others returns the minutes of the week that are in no interval.
func others(week []interval) []interval {
	var rest []interval
	from := 0
	for _, span := range week {
		if span.from > from {
			rest = append(rest, interval{from, span.from})
		}
		from = span.until
	}
	if from < minutesOfWeek {
		rest = append(rest, interval{from, minutesOfWeek})
	}
	return rest
}

// wholeWeek reports whether merged intervals cover the week.
func wholeWeek(week []interval) bool { return slices.Equal(week, []interval{{0, minutesOfWeek}}) }

func (h WeekHours) always() bool { return wholeWeek(h.week) }

// IsZero reports whether there are no hours.
func (h WeekHours) IsZero() bool { return len(h.lines) == 0 }

// Equal reports whether both have the same times of the week; the lines may differ.
func (h WeekHours) Equal(other WeekHours) bool { return slices.Equal(h.week, other.week) }

// Lines returns the lines as ParseQuietHours reads them, in the original order and each once; nil
// for none.
func (h WeekHours) Lines() []string {
	if h.IsZero() {
		return nil
	}
	lines := make([]string, len(h.lines))
	for i, line := range h.lines {
		lines[i] = line.String()
	}
	return lines
}

// String returns the lines in words: "mon-fri 22:00-07:30 and sat,sun 00:00-24:00"; "" for none.
func (h WeekHours) String() string { return strings.Join(h.Lines(), " and ") }

// String returns the line in its canonical form.
func (l hoursLine) String() string {
	hours := fmt.Sprintf("%02d:%02d-%02d:%02d", l.from/60, l.from%60, l.until/60, l.until%60)
	if l.days == everyDay {
		return hours
	}
	return l.days.String() + " " + hours
}

// Contains reports whether the clocks of t's location show one of the hours at t.
func (h WeekHours) Contains(t time.Time) bool {
	minute := (int(t.Weekday())+6)%7*minutesOfDay + t.Hour()*60 + t.Minute()
	return slices.ContainsFunc(h.week, func(s interval) bool { return minute >= s.from && minute < s.until })
}

// MarshalJSON returns the lines as a list.
func (h WeekHours) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(orEmpty(h.Lines()))
	if err != nil {
		return nil, fmt.Errorf("hours: %w", err)
	}
	return text, nil
}

// UnmarshalJSON reads a list of lines with ParseQuietHours.
func (h *WeekHours) UnmarshalJSON(text []byte) error {
	var lines []string
	if err := json.Unmarshal(text, &lines); err != nil {
		return fmt.Errorf("hours: %w", err)
	}
	parsed, err := ParseQuietHours(lines...)
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}
