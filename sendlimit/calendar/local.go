package calendar

import (
	"fmt"
	"time"
)

// Layouts of a local time.
const (
	localSeconds = "2006-01-02 15:04:05"
	localMinutes = "2006-01-02 15:04"
)

// local is a time that clocks show, without a zone.
type local struct {
	wall   time.Time // as if it were in UTC
	layout string
}

// in returns the instant at which clocks in a zone show the time. If there is none, or more than
// one, it returns what is wrong with the time, and what to write instead. time.Date would choose
// one silently.
func (l local) in(zone *time.Location) (at time.Time, wrong string) {
	wall, layout := l.wall, l.layout
	// furthest is more than the offset of any zone from UTC.
	const furthest = 48 * time.Hour
	var found []time.Time
	gap := ""
	for probe := wall.Add(-furthest); probe.Before(wall.Add(furthest)); {
		start, end := probe.In(zone).ZoneBounds()
		_, offset := probe.In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second)
		switch {
		case !start.IsZero() && t.Before(start):
		case end.IsZero() || t.Before(end):
			found = append(found, t)
		default: // after this stretch, and before the next one if that begins later
			gap = gapBefore(end, layout)
		}
		if end.IsZero() {
			break
		}
		probe = end
	}
	switch len(found) {
	case 1:
		return found[0].UTC(), ""
	case 0:
		return time.Time{}, fmt.Sprintf("does not exist in %s: clocks go forward over it; the nearest times are %s",
			zone, gap)
	default:
		first, second := found[0].In(zone), found[1].In(zone)
		return time.Time{}, fmt.Sprintf("is ambiguous in %s: clocks go back and show it twice; write %s or %s",
			zone, first.Format(time.RFC3339Nano), second.Format(time.RFC3339Nano))
	}
}

// gapBefore returns the last time that clocks show before they are put forward, and the first one
// after.
func gapBefore(change time.Time, layout string) string {
	step := time.Second
	if layout == localMinutes {
		step = time.Minute
	}
	return fmt.Sprintf("%s and %s", change.Add(-step).Format(layout), change.Format(layout))
}
