package sendlimittest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// quiet is when a user is left alone: whenever the clock on the wall of a zone
// shows a time that one of the lines has. The zero value is never.
type quiet struct {
	zone  *time.Location
	lines []quietLine
}

// quietLine is one line of quiet hours: a time of day to begin at, on some days
// of the week, and one to end at, which is the next day's where it comes first.
type quietLine struct {
	text        string
	on          [7]bool // by time.Weekday: the days on which it begins
	from, until time.Duration
}

// parseQuiet reads lines as a policy has them, such as "fri-sun 22:00-08:00".
func parseQuiet(zone *time.Location, lines []string) (quiet, error) {
	q := quiet{zone: zone}
	for _, text := range lines {
		line, err := parseQuietLine(text)
		if err != nil {
			return quiet{}, fmt.Errorf("quiet hours %q: %w", text, err)
		}
		q.lines = append(q.lines, line)
	}
	return q, nil
}

func parseQuietLine(text string) (quietLine, error) {
	days, hours, found := strings.Cut(text, " ")
	if !found {
		days, hours = "sun-sat", text
	}
	line := quietLine{text: text}
	for part := range strings.SplitSeq(days, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, until := slices.Index(dayNames(), first), slices.Index(dayNames(), last)
		if from < 0 || until < 0 {
			return quietLine{}, fmt.Errorf("no day of the week in %q", part)
		}
		for day := from; ; day = (day + 1) % len(line.on) {
			line.on[day] = true
			if day == until {
				break
			}
		}
	}
	var h, m, untilH, untilM int
	if _, err := fmt.Sscanf(hours, "%d:%d-%d:%d", &h, &m, &untilH, &untilM); err != nil {
		return quietLine{}, fmt.Errorf("no times of day: %w", err)
	}
	line.from, line.until = timeOfDay(h, m), timeOfDay(untilH, untilM)
	return line, nil
}

// dayNames has the days of the week in the order of time.Weekday.
func dayNames() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

func timeOfDay(hours, minutes int) time.Duration {
	return time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
}

// at reports whether t is in the quiet hours.
func (q quiet) at(t int64) bool {
	if q.lines == nil {
		return false
	}
	wall := moment(t).In(q.zone)
	return slices.ContainsFunc(q.lines, func(l quietLine) bool { return l.has(wall) })
}

// has reports whether a line has what a clock shows.
func (l quietLine) has(wall time.Time) bool {
	today := wall.Weekday()
	yesterday := (today + 6) % 7
	clock := timeOfDay(wall.Hour(), wall.Minute())
	if l.from < l.until {
		return l.on[today] && l.from <= clock && clock < l.until
	}
	return l.on[today] && l.from <= clock || l.on[yesterday] && clock < l.until
}

// What a clock shows becomes quiet, or ceases to be, only at the times of day
// that the lines name, at midnight, when it is another day's turn, and where the
// clock is changed.

// nextEdge returns the earliest such instant after t; one past all others where
// there are none.
func (q quiet) nextEdge(t int64) int64 {
	if q.lines == nil {
		return math.MaxInt64
	}
	wall := moment(t).In(q.zone)
	midnight, ahead := q.midnight(wall)
	next := midnight + dayLength
	for _, shown := range q.timesOfDay() {
		if edge := midnight + shown; edge > t+ahead {
			next = min(next, edge)
		}
	}
	next -= ahead
	if changes, ok := clockChangeAfter(wall); ok {
		next = min(next, cut(changes))
	}
	return next
}

// previousEdge returns the latest such instant up to t; one before all others
// where there are none.
func (q quiet) previousEdge(t int64) int64 {
	if q.lines == nil {
		return math.MinInt64
	}
	wall := moment(t).In(q.zone)
	midnight, ahead := q.midnight(wall)
	previous := midnight
	for _, shown := range q.timesOfDay() {
		if edge := midnight + shown; edge <= t+ahead {
			previous = max(previous, edge)
		}
	}
	previous -= ahead
	if changed := clockChangeBefore(wall); !changed.IsZero() {
		previous = max(previous, cut(changed))
	}
	return previous
}

const dayLength = int64(24 * time.Hour / time.Millisecond)

// midnight returns the time at which the date on the wall begins, on an axis on
// which the clock is never changed, and how far that axis is ahead of UTC.
func (q quiet) midnight(wall time.Time) (midnight, ahead int64) {
	ahead = offsetAt(wall).Milliseconds()
	local := cut(wall) + ahead
	return local - ((local%dayLength)+dayLength)%dayLength, ahead
}

// timesOfDay are those that the lines name, in milliseconds since midnight.
func (q quiet) timesOfDay() []int64 {
	times := make([]int64, 0, 2*len(q.lines))
	for _, l := range q.lines {
		times = append(times, l.from.Milliseconds(), l.until.Milliseconds())
	}
	return times
}

// period says of a quiet moment what makes it so.
func (q quiet) period(t int64) *policy.QuietPeriod {
	wall, around := moment(t).In(q.zone), q.around(t)
	line := slices.IndexFunc(q.lines, func(l quietLine) bool { return l.has(wall) })
	return &policy.QuietPeriod{
		From: moment(around.from), Until: moment(around.until),
		TimeZone: q.zone.String(), Location: q.zone, Hours: q.lines[line].text,
	}
}

// around returns the longest stretch of quiet that t is in.
func (q quiet) around(t int64) span {
	s := span{t, t}
	for q.at(s.until) {
		s.until = q.nextEdge(s.until)
	}
	for q.at(s.from) {
		s.from = q.previousEdge(s.from) - 1
	}
	s.from++
	return s
}

// spans returns the longest stretches of quiet within s, ascending.
func (q quiet) spans(s span) []span {
	var found []span
	for t := s.from; t < s.until; t = q.nextEdge(t) {
		if !q.at(t) {
			continue
		}
		stretch := q.around(t)
		found = append(found, span{max(stretch.from, s.from), min(stretch.until, s.until)})
		t = stretch.until - 1
	}
	return found
}
