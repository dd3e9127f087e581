package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Bounds of blackout dates.
const (
	MaxBlackouts = 100 // lines of a list, and of a named calendar
	MaxCalendars = 20  // of a policy
	// maxBlackoutDays is the maximum length of a range of dates.
	maxBlackoutDays = 366
)

// Blackouts are dates on which nothing is sent, from midnight to midnight in the time zone of the
// quiet hours. The zero value has none. Blackouts are immutable.
type Blackouts struct{ lines []blackoutLine }

// blackoutLine is a date, a range of dates, or the name of a calendar of the policy. A date without
// a year occurs in every year.
type blackoutLine struct {
	from, until monthDay // both included
	fromYear    int      // 0 for every year
	untilYear   int
	calendar    string // "" for dates
}

// monthDay is a day of a year.
type monthDay struct {
	month time.Month
	day   int
}

const wantBlackout = "a date such as 2027-01-01, 12-25 for every year, a range such as 2027-04-02..2027-04-05," +
	" or the name of a calendar of the policy"

// ParseBlackouts reads lines of blackout dates: "2027-01-01"; "12-25", for every year;
// "2027-04-02..2027-04-05" and "12-24..01-02", which include both days; or the name of one of the
// policy's Calendars, which begins with a letter. The error is fault.InvalidErrors for the field
// "blackouts".
func ParseBlackouts(lines ...string) (Blackouts, error) {
	return parseBlackouts("blackouts", lines, true)
}

// parseBlackouts reads lines. Only some lists may name calendars.
func parseBlackouts(field string, lines []string, calendars bool) (Blackouts, error) {
	if len(lines) > MaxBlackouts {
		return Blackouts{}, &fault.InvalidError{
			Field: field, Says: fmt.Sprintf("%s has %d lines: at most %d are allowed", field, len(lines), MaxBlackouts),
		}
	}
	var b Blackouts
	var wrong fault.InvalidErrors
	for _, written := range lines {
		line, err := parseBlackout(field, written)
		if err == nil && line.calendar != "" && !calendars {
			err = &fault.InvalidError{Field: field, Value: written, Want: "dates only: a calendar does not name another one"}
		}
		wrong.Add(err)
		if err == nil && !slices.Contains(b.lines, line) {
			b.lines = append(b.lines, line)
		}
	}
	if len(wrong) == 0 && b.wholeYear() {
		wrong.Add(&fault.InvalidError{
			Field: field, Value: b.String(), Says: fmt.Sprintf("%s %s leaves no day of the year: nothing could ever be sent", field, b),
		})
	}
	if len(wrong) > 0 {
		return Blackouts{}, wrong.Err()
	}
	return b, nil
}

func parseBlackout(field, written string) (blackoutLine, error) {
	refused := func(want string) (blackoutLine, error) {
		return blackoutLine{}, &fault.InvalidError{Field: field, Value: written, Want: want}
	}
	if written != "" && !keyspace.OnlyBytes(written[:1], "0123456789") {
		if !validCalendarName(written) {
			return refused(wantBlackout)
		}
		return blackoutLine{calendar: written}, nil
	}
	first, last, ranged := strings.Cut(written, "..")
	if !ranged {
		last = first
	}
	var line blackoutLine
	var begins, ends bool
	line.fromYear, line.from, begins = parseDay(first)
	line.untilYear, line.until, ends = parseDay(last)
	switch {
	case !begins || !ends || (line.fromYear == 0) != (line.untilYear == 0):
		return refused(wantBlackout)
	case line.fromYear == 0:
		return line, nil
	}
	switch days := line.until.in(line.untilYear) - line.from.in(line.fromYear) + 1; {
	case days < 1:
		return refused("a range that ends on a later day than it begins")
	case days > maxBlackoutDays:
		return refused(fmt.Sprintf("a range of at most %d days", maxBlackoutDays))
	}
	return line, nil
}

// validCalendarName reports whether a name can be the name of a calendar: a date begins with a
// digit.
func validCalendarName(name string) bool {
	return keyspace.ValidName(name) && !keyspace.OnlyBytes(name[:1], "0123456789")
}

// parseDay reads "2027-12-25", or "12-25" with the year 0.
func parseDay(s string) (year int, d monthDay, ok bool) {
	yearly := len(s) == len("12-25")
	if yearly {
		s = "2000-" + s // a leap year, which has every day
	}
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, monthDay{}, false
	}
	year, d.month, d.day = day.Date()
	if yearly {
		return 0, d, true
	}
	return year, d, year >= 1970
}

// in returns the number of the day in a year, counted from 1 January 1970. In a year without 29
// February, that day is 1 March.
func (d monthDay) in(year int) int {
	return int(time.Date(year, d.month, d.day, 0, 0, 0, 0, time.UTC).Unix() / int64(calendar.DayLong/time.Second))
}

// days returns the days of the line that begin in the years first to last.
func (l blackoutLine) days(first, last int) []interval {
	if l.fromYear != 0 {
		return []interval{{l.from.in(l.fromYear), l.until.in(l.untilYear) + 1}}
	}
	var spans []interval
	for year := first; year <= last; year++ {
		end := year
		if l.until.month < l.from.month || l.until.month == l.from.month && l.until.day < l.from.day {
			end++ // over the turn of the year
		}
		until := l.until.in(end)
		if !leapDay(l.until) || isLeap(end) {
			until++
		}
		if from := l.from.in(year); from < until {
			spans = append(spans, interval{from, until})
		}
	}
	return spans
}

func leapDay(d monthDay) bool { return d.month == time.February && d.day == 29 }

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// days returns the days of all lines in the years first to last, ascending and merged.
func (b Blackouts) days(first, last int) []interval {
	var spans []interval
	for _, line := range b.lines {
		if line.calendar == "" {
			spans = append(spans, line.days(first-1, last)...)
		}
	}
	return merge(spans)
}

// wholeYear reports whether the yearly dates cover a whole year.
func (b Blackouts) wholeYear() bool {
	yearly := Blackouts{lines: slices.DeleteFunc(slices.Clone(b.lines), func(l blackoutLine) bool { return l.fromYear != 0 })}
	const common = 2001 // a year without 29 February
	begin, end := monthDay{time.January, 1}.in(common), monthDay{time.January, 1}.in(common+1)
	return slices.ContainsFunc(yearly.days(common, common), func(s interval) bool { return s.from <= begin && s.until >= end })
}

// lineOn returns the line that contains a day; "" for none.
func (b Blackouts) lineOn(day int) string {
	year := time.Unix(int64(day)*int64(calendar.DayLong/time.Second), 0).UTC().Year()
	for _, line := range b.lines {
		if slices.ContainsFunc(line.days(year-1, year), func(s interval) bool { return s.from <= day && day < s.until }) {
			return line.String()
		}
	}
	return ""
}

// with returns the dates, with the names of calendars replaced by their dates.
func (b Blackouts) with(calendars map[string]Blackouts) Blackouts {
	var resolved Blackouts
	for _, line := range b.lines {
		if line.calendar == "" {
			resolved.lines = append(resolved.lines, line)
			continue
		}
		resolved.lines = append(resolved.lines, calendars[line.calendar].lines...)
	}
	return resolved
}

// IsZero reports whether there are no dates.
func (b Blackouts) IsZero() bool { return len(b.lines) == 0 }

// Equal reports whether the lines are the same, in any order.
func (b Blackouts) Equal(other Blackouts) bool {
	return len(b.lines) == len(other.lines) &&
		!slices.ContainsFunc(b.lines, func(l blackoutLine) bool { return !slices.Contains(other.lines, l) })
}

// Lines returns the lines as ParseBlackouts reads them, each once; nil for none.
func (b Blackouts) Lines() []string {
	if b.IsZero() {
		return nil
	}
	lines := make([]string, len(b.lines))
	for i, line := range b.lines {
		lines[i] = line.String()
	}
	return lines
}

// String returns the lines for a sentence: "12-25 and 2027-04-02..2027-04-05"; "" for none.
func (b Blackouts) String() string { return strings.Join(b.Lines(), " and ") }

func (l blackoutLine) String() string {
	if l.calendar != "" {
		return l.calendar
	}
	first, last := l.from.spelled(l.fromYear), l.until.spelled(l.untilYear)
	if first == last {
		return first
	}
	return first + ".." + last
}

func (d monthDay) spelled(year int) string {
	if year == 0 {
		return fmt.Sprintf("%02d-%02d", d.month, d.day)
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, d.month, d.day)
}

// validateBlackouts checks the names of calendars and the references to them, and that a list with
// its calendars leaves a day of the year.
func (p Policy) validateBlackouts() error {
	if len(p.Calendars) > MaxCalendars {
		return &fault.InvalidError{
			Field: "calendars", Says: fmt.Sprintf("there are %d calendars: a policy has at most %d", len(p.Calendars), MaxCalendars),
		}
	}
	var wrong fault.InvalidErrors
	for _, name := range slices.Sorted(maps.Keys(p.Calendars)) {
		if !validCalendarName(name) {
			wrong.Add(&fault.InvalidError{Field: "calendars", Value: name, Want: keyspace.WantName + ", not a digit at the beginning"})
		}
	}
	check := func(field string, b Blackouts) {
		for _, line := range b.lines {
			if _, known := p.Calendars[line.calendar]; line.calendar != "" && !known {
				wrong.Add(&fault.InvalidError{
					Field: field, Value: line.calendar,
					Says: fmt.Sprintf("%s names the calendar %s, which is not in calendars", field, line.calendar),
				})
			}
		}
		if b.with(p.Calendars).wholeYear() {
			wrong.Add(&fault.InvalidError{
				Field: field, Value: b.String(), Says: fmt.Sprintf("%s %s leaves no day of the year: nothing could ever be sent", field, b),
			})
		}
	}
	check("blackouts", p.Blackouts)
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		if b := p.Categories[name].Blackouts; b != nil {
			check("categories."+name+".blackouts", *b)
		}
	}
	return wrong.Err()
}
