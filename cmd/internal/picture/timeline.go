package picture

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// Timeline is a user's sends and free time between From and To.
type Timeline struct {
	From, To time.Time
	Now, At  time.Time
	Sends    []time.Time        // ascending
	Free     []calendar.Stretch // ascending
	Quiet    []calendar.Stretch // ascending; never free
}

// unit is how much time one row of a timeline shows.
type unit struct {
	length time.Duration // the usual length: days with a clock change differ
	label  string        // layout of a row's start
	ticks  []string      // evenly spread over the row
	// columns are the possible numbers of columns, descending. Each makes a column a
	// round duration.
	columns []int
}

// unitOf chooses the rows of a timeline: a few dozen at most.
func unitOf(span time.Duration) unit {
	switch {
	case span <= 3*time.Hour:
		return unit{
			length: 10 * time.Minute, label: "15:04", columns: []int{120, 60, 20},
			ticks: []string{"+0", "+1", "+2", "+3", "+4", "+5", "+6", "+7", "+8", "+9"},
		}
	case span <= 48*time.Hour:
		return unit{
			length: time.Hour, label: "15:04", columns: []int{120, 60, 30},
			ticks: []string{":00", ":10", ":20", ":30", ":40", ":50"},
		}
	default:
		return unit{
			length: 24 * time.Hour, label: "Mon 2006-01-02", columns: []int{96, 48, 24},
			ticks: []string{"0:00", "6:00", "12:00", "18:00"},
		}
	}
}

// start returns the start of the row that contains a time.
func (u unit) start(t time.Time) time.Time {
	if u.length == 24*time.Hour {
		return calendar.DayStart(t, t.Location())
	}
	return byElapsed(t, u.length)(0)
}

// next returns the start of the row after the row that begins at t.
func (u unit) next(t time.Time) time.Time {
	if u.length == 24*time.Hour {
		return u.start(t.Add(36 * time.Hour))
	}
	return t.Add(u.length)
}

// fit returns the largest number of columns that fits.
func (u unit) fit(width int) int {
	for _, n := range u.columns {
		if n <= width {
			return n
		}
	}
	return u.columns[len(u.columns)-1]
}

// Draw draws the timeline in rows of ten minutes, an hour or a day, with its
// legend.
func (t Timeline) Draw(w io.Writer, s Style) error {
	u := unitOf(t.To.Sub(t.From))
	margin := len(indent) + len(u.label) + 2
	columns := u.fit(s.width() - margin)
	lines := []string{strings.Repeat(" ", margin) + s.Palette.Dim(u.scale(columns))}
	begun, date := false, ""
	for from := u.start(t.From.In(s.zone())); from.Before(t.To); from = u.next(from) {
		if begun = begun || u.next(from).After(t.Now) || t.sends(from, u.next(from)) > 0; !begun {
			continue // skip past rows before the first send
		}
		if day := from.Format(time.DateOnly); day != date && u.length < 24*time.Hour {
			lines, date = append(lines, indent+s.Palette.Bold(day)), day
		}
		line := fmt.Sprintf("%s%s  %s", indent, from.Format(u.label), t.row(s, from, u.next(from), columns))
		lines = append(lines, t.mark(s, line, from, u.next(from)))
	}
	return writeLines(w, append(lines, "", s.legend(len(t.Quiet) > 0)))
}

// scale returns the ticks above the rows.
func (u unit) scale(columns int) string {
	line := newRow(columns + len(u.ticks[len(u.ticks)-1]))
	for i, tick := range u.ticks {
		line.write(i*columns/len(u.ticks), tick)
	}
	return strings.TrimRight(Style{}.text(line), " ")
}

// mark marks the row with the requested time.
func (t Timeline) mark(s Style, line string, from, until time.Time) string {
	if t.At.Before(from) || !t.At.Before(until) {
		return line
	}
	return line + s.Palette.Dim(" < "+s.clock(t.At, t.At))
}

// row draws the time from from to until.
func (t Timeline) row(s Style, from, until time.Time, columns int) string {
	line := newRow(columns)
	length := until.Sub(from)
	for i := range line {
		begin := from.Add(length * time.Duration(i) / time.Duration(columns))
		end := from.Add(length * time.Duration(i+1) / time.Duration(columns))
		if begin.Before(t.To) && end.After(t.From) {
			line[i] = t.cell(s, begin, end)
		}
	}
	return s.text(line)
}

// cell draws the time in [begin, end).
func (t Timeline) cell(s Style, begin, end time.Time) cell {
	g := s.glyphs()
	switch n := t.sends(begin, end); {
	case n == 1:
		return cell{g.send, bold}
	case n > 9:
		return cell{'*', bold}
	case n > 1:
		return cell{rune('0' + n), bold}
	}
	// The past is neither free nor taken.
	begin, end = latest(begin, t.From, t.Now), earliest(end, t.To)
	switch free := within(t.Free, begin, end); {
	case !begin.Before(end):
		return cell{glyph: ' '}
	case free == end.Sub(begin):
		return cell{g.free, green}
	case within(t.Quiet, begin, end) == end.Sub(begin):
		return cell{g.quiet, plain}
	case free == 0:
		return cell{g.taken, yellow}
	default:
		return cell{g.partly, yellow}
	}
}

// sends counts the sends in [begin, end).
func (t Timeline) sends(begin, end time.Time) int {
	first, _ := slices.BinarySearchFunc(t.Sends, begin, time.Time.Compare)
	last, _ := slices.BinarySearchFunc(t.Sends, end, time.Time.Compare)
	return last - first
}

// within returns how much of [begin, end) the stretches cover.
func within(stretches []calendar.Stretch, begin, end time.Time) time.Duration {
	i, _ := slices.BinarySearchFunc(stretches, begin, func(s calendar.Stretch, begin time.Time) int {
		if s.Until.After(begin) {
			return 1
		}
		return -1
	})
	var covered time.Duration
	for ; i < len(stretches) && stretches[i].From.Before(end); i++ {
		covered += earliest(end, stretches[i].Until).Sub(latest(begin, stretches[i].From))
	}
	return covered
}

func latest(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
