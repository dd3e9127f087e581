package policy

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

const (
	minuteMs = int64(time.Minute / time.Millisecond)
	dayMs    = int64(calendar.DayLong / time.Millisecond)
	weekMs   = int64(calendar.WeekLong / time.Millisecond)
	mondayMs = int64(4 * calendar.DayLong / time.Millisecond) // 5 January 1970 was a Monday
)

// tableYears is how many years before and after its year a QuietTable covers, like
// calendar.ZoneTables.TableAt.
const tableYears = 2

// longestStretch bounds the search for the ends of a quiet stretch, ms: if all times are quiet,
// there are no ends.
const longestStretch = 2 * 366 * dayMs

// QuietTable has the quiet times around a year in a time zone. A moment is quiet if the clocks of
// the zone show a quiet time: an hour that they skip does not occur, an hour that they show twice
// is quiet twice.
type QuietTable struct {
	quiet Quiet
	zone  *calendar.ZoneTable
	dates []interval
}

// Table returns the quiet times around a year. zone must be the table of that year.
func (q Quiet) Table(zone *calendar.ZoneTable, year int) *QuietTable {
	return &QuietTable{quiet: q, zone: zone, dates: q.dates.days(year-tableYears, year+tableYears)}
}

// At reports whether an instant, Unix ms, is quiet.
func (t *QuietTable) At(at int64) bool {
	quiet, _ := t.sameUntil(t.zone.Local(at))
	return quiet
}

// weekOf returns the time of the week of a local time, in ms since Monday 00:00.
func weekOf(local int64) int64 { return ((local-mondayMs)%weekMs + weekMs) % weekMs }

// sameUntil reports whether a local time is quiet, and a local time until which this certainly
// does not change.
func (t *QuietTable) sameUntil(local int64) (quiet bool, until int64) {
	wall := weekOf(local)
	monday := local - wall
	quiet, until = false, monday+weekMs
	week := t.quiet.week
	if i := sort.Search(len(week), func(i int) bool { return int64(week[i].until)*minuteMs > wall }); i < len(week) {
		from := int64(week[i].from) * minuteMs
		if quiet = from <= wall; quiet {
			from = int64(week[i].until) * minuteMs
		}
		until = monday + from
	}
	dates := t.dates
	if i := sort.Search(len(dates), func(i int) bool { return int64(dates[i].until)*dayMs > local }); i < len(dates) {
		from := int64(dates[i].from) * dayMs
		if from <= local {
			return true, int64(dates[i].until) * dayMs
		}
		until = min(until, from)
	}
	return quiet, until
}

// sameSince returns a local time since which it has certainly been as quiet as at local.
func (t *QuietTable) sameSince(local int64) int64 {
	monday := local - weekOf(local)
	since := monday
	edge := func(at int64) {
		if at <= local {
			since = max(since, at)
		}
	}
	for _, s := range t.quiet.week {
		edge(monday + int64(s.from)*minuteMs)
		edge(monday + int64(s.until)*minuteMs)
	}
	for _, s := range t.dates {
		edge(int64(s.from) * dayMs)
		edge(int64(s.until) * dayMs)
	}
	return since
}

// Words returns the quiet times for lua/judge/quiet.lua, without the offsets: the hours of the
// week, merged and ascending, in ms of the local week; "|"; and the dates, in local ms since 1970.
// It is "" if no time is quiet.
func (t *QuietTable) Words() string {
	week, dates := make([]string, 0, 2*len(t.quiet.week)), make([]string, 0, 2*len(t.dates))
	for _, s := range t.quiet.week {
		week = append(week, strconv.FormatInt(int64(s.from)*minuteMs, 10), strconv.FormatInt(int64(s.until)*minuteMs, 10))
	}
	for _, s := range t.dates {
		dates = append(dates, strconv.FormatInt(int64(s.from)*dayMs, 10), strconv.FormatInt(int64(s.until)*dayMs, 10))
	}
	if len(week)+len(dates) == 0 {
		return ""
	}
	return strings.Join(week, " ") + "|" + strings.Join(dates, " ")
}

// LineAt returns the first of the Lines that makes an instant quiet; "" if none does.
func (t *QuietTable) LineAt(at int64) string {
	local := t.zone.Local(at)
	wall := weekOf(local)
	for _, hours := range []WeekHours{t.quiet.hours, t.quiet.own} {
		for _, line := range hours.lines {
			if inWeek(line.spans(), wall) {
				return line.String()
			}
		}
	}
	if only := t.quiet.only; !only.IsZero() && !inWeek(only.week, wall) {
		return onlyLine(only)
	}
	if line := t.quiet.dates.lineOn(int(local / dayMs)); line != "" {
		return blackoutWord + line
	}
	return ""
}

func inWeek(week []interval, wall int64) bool {
	for _, s := range week {
		if wall >= int64(s.from)*minuteMs && wall < int64(s.until)*minuteMs {
			return true
		}
	}
	return false
}

// StretchAt returns the longest quiet interval [from, until) that contains an instant, in Unix ms;
// quiet is false if there is none.
func (t *QuietTable) StretchAt(at int64) (from, until int64, quiet bool) {
	if !t.At(at) {
		return 0, 0, false
	}
	return t.begin(at), t.end(at), true
}

// Within returns the quiet intervals in [from, until), Unix ms, ascending.
func (t *QuietTable) Within(from, until int64) []calendar.Stretch {
	var quiet []calendar.Stretch
	for at := from; at < until; {
		end := t.end(at)
		if t.At(at) {
			quiet = append(quiet, calendar.Stretch{From: time.UnixMilli(at).UTC(), Until: time.UnixMilli(min(end, until)).UTC()})
		}
		at = end
	}
	return quiet
}

// QuietLine is a quiet stretch of one of the Lines.
type QuietLine struct {
	calendar.Stretch

	Hours string // what LineAt returns in the stretch
}

// LinesWithin returns the quiet intervals in [from, until), Unix ms, ascending, cut where LineAt
// changes.
func (t *QuietTable) LinesWithin(from, until int64) []QuietLine {
	var lines []QuietLine
	edges := t.quiet.edges()
	for _, quiet := range t.Within(from, until) {
		for at, end := quiet.From.UnixMilli(), quiet.Until.UnixMilli(); at < end; {
			segment := t.zone.Segment(at)
			local := at + t.zone.Segments[segment].Offset
			wall := weekOf(local)
			next := edges[sort.Search(len(edges), func(i int) bool { return edges[i] > wall })]
			till := min(at+next-wall, t.zone.EndOf(segment), end)
			line := QuietLine{Stretch: calendar.Stretch{From: time.UnixMilli(at).UTC(), Until: time.UnixMilli(till).UTC()}, Hours: t.LineAt(at)}
			if last := len(lines) - 1; last >= 0 && lines[last].Hours == line.Hours && lines[last].Until.Equal(line.From) {
				lines[last].Until = line.Until
			} else {
				lines = append(lines, line)
			}
			at = till
		}
	}
	return lines
}

// edges returns the times of the week at which a line may begin or end, ascending, in ms since
// Monday 00:00. It includes each midnight, for blackouts. The last is the end of the week.
func (q Quiet) edges() []int64 {
	var edges []int64
	for midnight := int64(0); midnight <= weekMs; midnight += dayMs {
		edges = append(edges, midnight)
	}
	for _, hours := range []WeekHours{q.hours, q.own, q.only} {
		for _, line := range hours.lines {
			for _, s := range line.spans() {
				edges = append(edges, int64(s.from)*minuteMs, int64(s.until)*minuteMs)
			}
		}
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// end returns the first instant after start that is not as quiet as start. It steps from one change
// of the quiet times or of the offset to the next.
func (t *QuietTable) end(start int64) int64 {
	quiet := t.At(start)
	for at := start; ; {
		segment := t.zone.Segment(at)
		local := at + t.zone.Segments[segment].Offset
		still, until := t.sameUntil(local)
		if still != quiet || at-start > longestStretch {
			return at
		}
		at = min(at+until-local, t.zone.EndOf(segment))
	}
}

// begin returns the first instant since which all times have been as quiet as start.
func (t *QuietTable) begin(start int64) int64 {
	quiet := t.At(start)
	for at := start; ; {
		segment := t.zone.Segment(at)
		local := at + t.zone.Segments[segment].Offset
		if still, _ := t.sameUntil(local); still != quiet || start-at > longestStretch {
			return at + 1
		}
		at = max(at-local+t.sameSince(local), t.zone.BeginOf(segment)) - 1
	}
}
