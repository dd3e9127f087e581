package sendlimittest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// quiet is the times at which no message is sent to a user: those that a line covers by the zone's
// clock, those that no line of allowed hours covers, and the dates. The zero value covers no time.
type quiet struct {
	zone    *time.Location
	lines   []quietLine
	allowed []quietLine // nil means all
	dates   []string    // "2027-12-24..2027-12-26", "12-24..01-02", or one day
}

// quietLine is one line of quiet hours: the times of day at which they begin and
// end, and the days of the week on which they begin. If the end is not after the
// beginning, it is on the next day.
type quietLine struct {
	text        string
	days        [7]bool // by time.Weekday: the days on which they begin
	from, until time.Duration
}

// parseQuiet parses quiet hours of a policy, such as "fri-sun 22:00-08:00", its allowed
// hours, and its dates.
func parseQuiet(zone *time.Location, lines, allowed, dates []string) (quiet, error) {
	q := quiet{zone: zone, dates: dates}
	for _, text := range lines {
		line, err := parseQuietLine(text)
		if err != nil {
			return quiet{}, fmt.Errorf("quiet hours %q: %w", text, err)
		}
		q.lines = append(q.lines, line)
	}
	for _, text := range allowed {
		line, err := parseQuietLine(text)
		if err != nil {
			return quiet{}, fmt.Errorf("allowed hours %q: %w", text, err)
		}
		line.text = "only " + strings.Join(allowed, " and ")
		q.allowed = append(q.allowed, line)
	}
	return q, nil
}

// none reports whether no time is quiet.
func (q quiet) none() bool { return q.lines == nil && q.allowed == nil && q.dates == nil }

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
		for day := from; ; day = (day + 1) % len(line.days) {
			line.days[day] = true
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

// dayNames returns the days of the week in the order of time.Weekday.
func dayNames() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

func timeOfDay(hours, minutes int) time.Duration {
	return time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
}

// covers reports whether t is in the quiet hours.
func (q quiet) covers(t int64) bool {
	return !q.none() && q.reason(moment(t).In(q.zone)) != ""
}

// reason returns the line that makes a time quiet, or "".
func (q quiet) reason(wall time.Time) string {
	covers := func(l quietLine) bool { return l.covers(wall) }
	if i := slices.IndexFunc(q.lines, covers); i >= 0 {
		return q.lines[i].text
	}
	if q.allowed != nil && !slices.ContainsFunc(q.allowed, covers) {
		return q.allowed[0].text
	}
	today := wall.Format(time.DateOnly)
	for _, date := range q.dates {
		first, last, ranged := strings.Cut(date, "..")
		if !ranged {
			last = first
		}
		shown := today[len(today)-len(first):] // without the year, for a date of every year
		if first <= last && first <= shown && shown <= last || first > last && (first <= shown || shown <= last) {
			return "blackout " + date
		}
	}
	return ""
}

// covers reports whether the line covers a clock's time.
func (l quietLine) covers(wall time.Time) bool {
	today := wall.Weekday()
	yesterday := (today + 6) % 7
	clock := timeOfDay(wall.Hour(), wall.Minute())
	if l.from < l.until {
		return l.days[today] && l.from <= clock && clock < l.until
	}
	return l.days[today] && l.from <= clock || l.days[yesterday] && clock < l.until
}

// Edges: quiet hours begin or end only at the times of day of the lines, at
// midnight (the next day may differ) and at clock changes.

// nextEdge returns the earliest edge after t. Without quiet hours it returns the
// largest time.
func (q quiet) nextEdge(t int64) int64 {
	if q.none() {
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

// previousEdge returns the latest edge up to t. Without quiet hours it returns the
// smallest time.
func (q quiet) previousEdge(t int64) int64 {
	if q.none() {
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

// midnight returns the beginning of the local date in local milliseconds, as if the
// offset never changed, and the offset.
func (q quiet) midnight(wall time.Time) (midnight, ahead int64) {
	ahead = offsetAt(wall).Milliseconds()
	local := cut(wall) + ahead
	return local - ((local%dayLength)+dayLength)%dayLength, ahead
}

// timesOfDay returns the times of the lines in milliseconds since midnight.
func (q quiet) timesOfDay() []int64 {
	times := make([]int64, 0, 2*len(q.lines))
	for _, l := range slices.Concat(q.lines, q.allowed) {
		times = append(times, l.from.Milliseconds(), l.until.Milliseconds())
	}
	return times
}

// period returns the quiet period that contains t.
func (q quiet) period(t int64) *policy.QuietPeriod {
	around := q.stretchAt(t)
	return &policy.QuietPeriod{
		From: moment(around.from), Until: moment(around.until),
		TimeZone: q.zone.String(), Location: q.zone, Hours: q.reason(moment(t).In(q.zone)),
	}
}

// stretchAt returns the longest quiet stretch that contains t.
func (q quiet) stretchAt(t int64) span {
	s := span{t, t}
	for q.covers(s.until) {
		s.until = q.nextEdge(s.until)
	}
	for q.covers(s.from) {
		s.from = q.previousEdge(s.from) - 1
	}
	s.from++
	return s
}

// spans returns the longest quiet stretches within s, ascending.
func (q quiet) spans(s span) []span {
	var found []span
	for t := s.from; t < s.until; t = q.nextEdge(t) {
		if !q.covers(t) {
			continue
		}
		stretch := q.stretchAt(t)
		found = append(found, span{max(stretch.from, s.from), min(stretch.until, s.until)})
		t = stretch.until - 1
	}
	return found
}
